"""Dispatch by number and type of arguments, the messages of rejected calls, and calls with unknown values."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from precast.base.errors import PrecastError
from precast.lang.datatypes import Type, parse_type
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.functions.signatures import Signature, split
from precast.lang.values.unknowns import DeferredCall, Future, Hole, UnknownText


class Lambda:
    """A block in the form in which the evaluator passes it."""

    def __init__(self, body: Callable[..., Any], least: int, most: int | None = None) -> None:
        self.min_args = least
        self.max_args = least if most is None else most
        self.call = body

    @property
    def type(self) -> Type:
        return parse_type(f"Callable[{self.min_args}, {self.max_args}]")


class Compile:
    """The part of a host that a call needs."""

    has_unknowns = True

    def concrete(self, value: Any, span: Any) -> Any:
        if isinstance(value, Hole):
            return "asked"
        if isinstance(value, tuple):
            return tuple(self.concrete(item, span) for item in value)
        if isinstance(value, Future):
            raise ValueError("a future cannot be asked for")
        return value

    def defer(self, name: str, args: Sequence[Any]) -> DeferredCall:
        return DeferredCall(name, tuple(args))


@pytest.fixture
def declare() -> Iterator[Callable[..., Function]]:
    declared: list[str] = []

    def function(name: str, **options: Any) -> Function:
        declared.append(name)
        return Function(name, "for this test", **options)

    yield function
    for name in declared:
        del Function._known[name]


def call(function: Function, *args: Any, block: Lambda | None = None) -> Any:
    return function.call(Compile(), None, args, block)  # type: ignore[arg-type]


def refused(function: Function, *args: Any, block: Lambda | None = None) -> str:
    with pytest.raises(PrecastError) as caught:
        call(function, *args, block=block)
    return caught.value.message


def test_split_keeps_brackets_together() -> None:
    assert split("Hash[String, Integer] a, Struct[{'x' => Any, 'y' => Any}] b") == [
        "Hash[String, Integer] a",
        "Struct[{'x' => Any, 'y' => Any}] b",
    ]


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("Any a", 1, 1),
        ("Any a, Any b?", 1, 2),
        ("Any *a", 0, None),
        ("Any a, Any +b", 2, None),
        ("Any a, Callable[1, 1] &block", 1, 1),
    ],
)
def test_signature_counts_its_arguments(text: str, least: int, most: int | None) -> None:
    signature = Signature(text)
    assert (signature.min_args, signature.max_args) == (least, most)


def test_call_runs_the_first_dispatch_that_accepts_it(declare: Callable[..., Function]) -> None:
    function = declare("t_first")
    function.dispatch("Integer a")(lambda a: "integer")
    function.dispatch("Any a")(lambda a: "any")
    function.dispatch("Any a, Any b")(lambda a, b: "two")
    assert [call(function, 1), call(function, "x"), call(function, 1, 2)] == ["integer", "any", "two"]


def test_block_is_chosen_by_its_parameters(declare: Callable[..., Function]) -> None:
    function = declare("t_block")
    function.dispatch("Any a, Callable[2, 2] &block")(lambda call, a: "two")
    function.dispatch("Any a, Callable[1, 1] &block")(lambda call, a: "one")
    assert call(function, 1, block=Lambda(lambda x: x, 1)) == "one"
    assert call(function, 1, block=Lambda(lambda x, y: x, 2)) == "two"
    assert call(function, 1, block=Lambda(lambda x, y=1: x, 1, 2)) == "two"


def test_body_that_is_not_pure_gets_the_call(declare: Callable[..., Function]) -> None:
    function = declare("t_call")
    function.dispatch("Any a, Callable &block?", pure=False)(lambda call, a: call)
    context = call(function, 1, block=Lambda(lambda: 1, 0))
    assert isinstance(context, Call)
    assert context.run_block() == 1


def test_wrong_number_is_one_sentence(declare: Callable[..., Function]) -> None:
    function = declare("t_count")
    function.dispatch("Any a")(lambda a: a)
    function.dispatch("Any a, Any b, Any c?")(lambda *a: a)
    assert refused(function) == "'t_count' expects between 1 and 3 arguments, got none"
    assert refused(function, 1, 2, 3, 4) == "'t_count' expects between 1 and 3 arguments, got 4"


def test_one_parameter_of_several_types_is_one_sentence(declare: Callable[..., Function]) -> None:
    function = declare("t_types")
    function.dispatch("Numeric val")(lambda a: a)
    function.dispatch("String val")(lambda a: a)
    assert refused(function, None) == "'t_types' parameter 'val' expects a value of type Numeric or String, got Undef"


def test_different_reasons_are_listed_with_their_signatures(declare: Callable[..., Function]) -> None:
    function = declare("t_list")
    function.dispatch("String a, Callable[2, 2] &block?", pure=False)(lambda call, a: a)
    function.dispatch("Array b")(lambda a: a)
    assert refused(function, 5) == (
        "The function 't_list' was called with arguments it does not accept. It expects one of: "
        "(String a, Callable[2, 2] block?), rejected: parameter 'a' expects a String value, got Integer; "
        "(Array b), rejected: parameter 'b' expects an Array value, got Integer"
    )


def test_block_is_only_mentioned_if_the_arguments_are_accepted(declare: Callable[..., Function]) -> None:
    function = declare("t_blocks")
    function.dispatch("Hash a, Callable[2, 2] &block")(lambda call, a: a)
    function.dispatch("Iterable a, Callable[2, 2] &block")(lambda call, a: a)
    function.dispatch("Iterable a, Callable[1, 1] &block")(lambda call, a: a)
    assert refused(function, (1,)) == "'t_blocks' expects a block"
    three = Lambda(lambda x, y, z: x, 3)
    assert refused(function, (1,), block=three) == "'t_blocks' block expects between 1 and 2 arguments, got 3"


def test_same_name_twice_is_a_bug(declare: Callable[..., Function]) -> None:
    declare("t_twice")
    with pytest.raises(ValueError, match="declared twice"):
        Function("t_twice", "again")


HOLE = Hole("facts", ("fqdn",))


def test_concrete_function_asks_at_any_depth(declare: Callable[..., Function]) -> None:
    function = declare("t_concrete")
    function.dispatch("Any a")(lambda a: a)
    assert call(function, HOLE) == "asked"
    assert call(function, ("a", HOLE)) == ("a", "asked")
    with pytest.raises(ValueError, match="future"):
        call(function, Future("k"))


def test_flowing_function_asks_only_for_arguments_that_it_inspects(declare: Callable[..., Function]) -> None:
    function = declare("t_flow", unknowns=Unknowns.FLOW)
    function.dispatch("Array a, Any b")(lambda a, b: (a, b))
    assert call(function, (HOLE,), Future("k")) == ((HOLE,), Future("k"))
    assert refused(function, HOLE, 1).endswith("expects an Array value, got String")


def test_agent_function_is_deferred_for_futures_and_asks_for_holes(declare: Callable[..., Function]) -> None:
    function = declare("t_agent", unknowns=Unknowns.AGENT)
    function.dispatch("String a")(lambda a: a + "!")
    assert call(function, HOLE) == "asked!"
    assert call(function, Future("k")) == DeferredCall("t_agent", (Future("k"),))
    late = UnknownText(("a", Future("k")))
    assert call(function, late) == DeferredCall("t_agent", (late,))
