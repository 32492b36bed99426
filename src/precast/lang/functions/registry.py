"""How a function is declared and found, and how a call picks the dispatch that fits.

A function has dispatches, each with a signature in Puppet's types:

    ROUND = Function("round", "Rounds to the nearest integer.")

    @ROUND.dispatch("Numeric value >> Integer")
    def _round(value: float) -> int: ...

    "Hash hash, Callable[2, 2] &block"      a required block
    "Any *values"                           any number, none included ("+": at least one)
    "String text, Integer width?"           optional
    "Any value, Callable[1, 1] &block?"     an optional block

A call goes by the number of arguments first, then by type. Each signature is read and its checks are made once, at its first use.
What a value that is not known yet does to a call is said by the declaration (`unknowns`), not by each function.
"""

import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar

from precast.base.spans import Span
from precast.lang.functions.host import Block, Call, Host
from precast.lang.functions.mismatches import refusal
from precast.lang.functions.signatures import Fits, Signature
from precast.lang.values.core import Unknown
from precast.lang.values.unknowns import holds_unknown, is_late

Body = Callable[..., Any]
BodyT = TypeVar("BodyT", bound=Body)


class Unknowns(enum.Enum):
    """What happens to an argument that is not known yet."""

    FLOW = "flow"  # handed on as it is inside arrays and hashes: the function moves values and never looks at them
    CONCRETE = "concrete"  # asked for: a hole becomes a question, a future is an error
    AGENT = "agent"  # a hole is asked for; with anything later the call is put off to the agent, which has the function
    TEXT = "text"  # joined into a text that is not known yet; an array that is itself unknown goes to the agent


class Dispatch(NamedTuple):
    """A signature with what runs when it fits."""

    signature: Signature
    body: Body
    pure: bool


class Function:
    """A declared function. Declaring it twice under one name is a bug and raises."""

    _known: ClassVar["dict[str, Function]"] = {}

    def __init__(
        self,
        name: str,
        documentation: str,
        *,
        unknowns: Unknowns = Unknowns.CONCRETE,
        is_statement: bool = False,
        aliases: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.documentation = documentation
        self.unknowns = unknowns
        self.is_statement = is_statement
        # What flows through is not looked into: that would cost as much as the iteration itself.
        self._minds = _is_unknown if unknowns in (Unknowns.FLOW, Unknowns.TEXT) else holds_unknown
        self.dispatches: list[Dispatch] = []
        self._by_count: dict[int, tuple[tuple[Fits, Body, bool], ...]] = {}
        for each in (name, *aliases):
            if each in self._known:
                raise ValueError(f"function {each} is declared twice")
            self._known[each] = self

    @classmethod
    def named(cls, name: str) -> "Function | None":
        """The function of that name, in lower case and without leading `::`, among those declared so far."""
        return cls._known.get(name)

    @classmethod
    def all(cls) -> "Iterator[tuple[str, Function]]":
        """Every function by name; an alias comes under its own."""
        for name in sorted(cls._known):
            yield name, cls._known[name]

    def dispatch(self, signature: str, *, pure: bool = True) -> Callable[[BodyT], BodyT]:
        """Declares what runs for a signature; a body that is not pure gets the Call first."""

        def declare(body: BodyT) -> BodyT:
            parsed = Signature(signature)
            self.dispatches.append(Dispatch(parsed, body, pure and not parsed.block_text))
            return body

        return declare

    def call(
        self, host: Host, scope: Any, args: Sequence[Any], block: Block | None = None, span: Span | None = None
    ) -> Any:
        """Runs the first dispatch that fits; raises the error that says how none does."""
        if host.has_unknowns and any(map(self._minds, args)):
            return self._call_with_unknown(host, scope, args, block, span)
        return self._call_known(host, scope, args, block, span)

    def _call_known(self, host: Host, scope: Any, args: Sequence[Any], block: Block | None, span: Span | None) -> Any:
        try:
            candidates = self._by_count[len(args)]
        except KeyError:
            candidates = self._candidates(len(args))
        for fits, body, pure in candidates:
            if fits(args, block):
                return body(*args) if pure else body(Call(host, scope, block, span), *args)
        return self.refuse(args, block)

    def _candidates(self, count: int) -> tuple[tuple[Fits, Body, bool], ...]:
        """The dispatches that take a number of arguments, with their checks; made at the first call with that number."""
        found = tuple((d.signature.fits(count), d.body, d.pure) for d in self.dispatches if d.signature.takes(count))
        self._by_count[count] = found
        return found

    def _call_with_unknown(
        self, host: Host, scope: Any, args: Sequence[Any], block: Block | None, span: Span | None
    ) -> Any:
        if self.unknowns in (Unknowns.AGENT, Unknowns.TEXT) and block is None and any(map(is_late, args)):
            return host.defer(self.name, args)
        if self.unknowns is Unknowns.FLOW:
            known = [
                host.concrete(arg, span) if isinstance(arg, Unknown) and self._looks_at(index) else arg
                for index, arg in enumerate(args)
            ]
        else:
            known = [host.concrete(arg, span) for arg in args]
        return self._call_known(host, scope, known, block, span)

    def _looks_at(self, index: int) -> bool:
        """Whether some signature wants more of an argument than that it is there."""
        texts = [d.signature.parameters[min(index, len(d.signature.parameters) - 1)].type_text for d in self.dispatches]
        return any(text != "Any" for text in texts)

    def refuse(self, args: Sequence[Any], block: Block | None) -> NoReturn:
        """Raises the error of arguments that no dispatch takes."""
        raise refusal(self.name, [dispatch.signature for dispatch in self.dispatches], args, block)


def _is_unknown(value: Any) -> bool:
    return isinstance(value, Unknown)


def find(name: str) -> Function | None:
    """The built-in function of that name, in lower case and without leading `::`; `library` must have been imported."""
    return Function.named(name)


def functions() -> Iterator[tuple[str, Function]]:
    """Every built-in function by name; an alias comes under its own."""
    return Function.all()
