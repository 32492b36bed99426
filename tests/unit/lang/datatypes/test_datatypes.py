"""Data types: recursion, unknown values, and laws that hold for all types. Their error texts are in tests/spec/lang/types.jsonl."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base.errors import InputError
from precast.lang.conversions import create
from precast.lang.datatypes import Type, TypeAlias, core, index, infer, infer_reduced, mismatch, named_type, parse_type
from precast.lang.datatypes.construction.notation import parse_type_in
from precast.lang.datatypes.core_types import CORE
from precast.lang.datatypes.documentation import DOCUMENTATION
from precast.lang.values.base import Hash, Unknown
from tests.unit.lang.values.test_values import DATA

TEXTS = [
    "Any", "Undef", "Scalar", "ScalarData", "Data", "RichData", "Numeric", "Integer", "Integer[1,5]", "Float", "String", "String[1]",
    "Boolean", "Boolean[true]", "Enum[a,b]", "Pattern[/a/]", "Collection", "Array", "Array[Integer]", "Array[Data, 1, 2]", "Hash",
    "Hash[String, Data]", "Tuple[Integer, String]", "Tuple[Integer, 0, 3]", "Struct[{a => Integer, Optional[b] => String}]",
    "Optional[Integer]", "NotUndef", "Variant[Integer, String]", "Iterable", "Type", "Sensitive",
]  # fmt: skip
TYPES = st.sampled_from([parse_type(text) for text in TEXTS])


@given(TYPES, TYPES, DATA)
def test_type_checks_instances_of_every_type_it_accepts(wide: Type, narrow: Type, value: object) -> None:
    if wide.accepts(narrow) and narrow.check(value):
        assert wide.check(value)


@given(DATA)
def test_a_value_is_an_instance_of_its_own_types(value: object) -> None:
    assert infer(value).check(value)
    assert infer_reduced(value).check(value) or value in ((), Hash()) or _contains_undef(value)


def _contains_undef(value: object) -> bool:
    """Puppet ignores undef when it looks for a common type."""
    if isinstance(value, Hash):
        return any(map(_contains_undef, [*value.keys(), *value.values()]))
    return value is None or (isinstance(value, tuple) and any(map(_contains_undef, value)))


@given(TYPES, DATA)
def test_mismatch_is_described_only_if_the_value_does_not_fit(wanted: Type, value: object) -> None:
    assert bool(mismatch.differences(wanted, value)) is not wanted.check(value)


@given(TYPES)
def test_text_of_a_type_parses_to_the_same_type(data_type: Type) -> None:
    assert parse_type(str(data_type)) == data_type


def alias(name: str, text: str) -> TypeAlias:
    new_alias = TypeAlias(name)
    named_type(new_alias, parse_type_in(text, lambda known: new_alias if known == name else core(known)))
    return new_alias


def test_alias_may_contain_itself() -> None:
    tree = alias("Tree", "Struct[{v => Integer, Optional[next] => Tree}]")
    inner = Hash.of([("v", 1)])
    assert tree.check(Hash.of([("v", 2), ("next", inner)]))
    assert not tree.check(Hash.of([("v", 2), ("next", Hash.of([("v", "x")]))]))
    assert str(tree) == "Tree = Struct[{'v' => Integer, Optional['next'] => Tree}]"


def test_an_alias_in_its_own_variant_adds_nothing() -> None:
    loop = alias("Loop", "Variant[Loop, Integer]")
    assert loop.check(1)
    assert not loop.check("a")


@pytest.mark.parametrize("text", ["Loop", "Variant[Loop, Loop]"])
def test_an_alias_of_itself_alone_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        alias("Loop", text)
    assert caught.value.code == "LANG-220"


class OnlyString(Unknown):
    """A value of which only the type is known."""

    def may_be(self, wanted: object) -> bool:
        return isinstance(wanted, Type) and wanted.accepts(parse_type("String"))


def test_unknown_value_fits_a_type_it_may_turn_out_to_be() -> None:
    unknown = OnlyString()
    assert parse_type("Array[String]").check((unknown,))
    assert parse_type("Struct[{a => Optional[String]}]").check(Hash.of([("a", unknown)]))
    assert not parse_type("Array[Integer]").check((unknown,))


def test_type_error_is_raised_without_a_place() -> None:
    with pytest.raises(InputError) as caught:
        index(parse_type("Integer"), ("a",))
    assert caught.value.span is None


def test_conversion_with_a_wrong_result_describes_it() -> None:
    with pytest.raises(InputError, match=r"expects an Integer\[1, 5\] value, got Integer\[9, 9\]"):
        create(parse_type("Integer[1, 5]"), ("9",))


def test_every_data_type_is_documented() -> None:
    assert {name.lower() for name in DOCUMENTATION} == CORE.keys()


def test_several_reasons_are_joined_in_one_line() -> None:
    wanted = parse_type("Struct[{a => Integer}]")
    reason = mismatch.describe("parameter 'x'", wanted, Hash.of([("b", 1)]))
    assert reason == "parameter 'x' expects a value for key 'a'; unrecognized key 'b'"
