"""Declares and finds functions, and selects the dispatch that accepts a call.

A function has dispatches, each with a signature in Puppet's types:

    ROUND = Function("round", "Rounds to the nearest integer.")

    @ROUND.dispatch("Numeric value >> Integer")
    def _round(value: float) -> int: ...

    "Hash hash, Callable[2, 2] &block"      a required block
    "Any *values"                           any number, also none ("+": at least one)
    "String text, Integer width?"           optional
    "Any value, Callable[1, 1] &block?"     an optional block

A call selects by the number of arguments first, then by type. Each signature is parsed and its checks are made once, at its first
use. The declaration decides what happens to unknown arguments (`unknowns`), so that the functions themselves need not care.
"""

import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar

from precast.base.spans import Span
from precast.lang.functions.host import Block, Call, Host
from precast.lang.functions.mismatches import mismatch_error
from precast.lang.functions.signatures import ArgumentCheck, Signature
from precast.lang.values.base import Unknown
from precast.lang.values.secret_texts import note_result
from precast.lang.values.unknowns import has_unknown, is_late

Body = Callable[..., Any]
BodyT = TypeVar("BodyT", bound=Body)


class Unknowns(enum.Enum):
    """What happens to an argument whose value is unknown at compile time."""

    FLOW = "flow"  # passed on as it is inside arrays and hashes: the function moves values and never inspects them
    CONCRETE = "concrete"  # made concrete: a hole becomes a question to the inputs, a future is an error
    AGENT = "agent"  # a hole is made concrete; a call with a later value is deferred to the agent
    TEXT = "text"  # joined into an unknown text; a call with an unknown array is deferred to the agent


class Dispatch(NamedTuple):
    """A signature with the body that runs if the signature accepts the call."""

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
        # Values that flow through are not searched for unknowns: that would cost as much as the iteration itself.
        self._is_affected = _is_unknown if unknowns in (Unknowns.FLOW, Unknowns.TEXT) else has_unknown
        self.dispatches: list[Dispatch] = []
        self._by_count: dict[int, tuple[tuple[ArgumentCheck, Body, bool], ...]] = {}
        for known_name in (name, *aliases):
            if known_name in self._known:
                raise ValueError(f"function {known_name} is declared twice")
            self._known[known_name] = self

    @classmethod
    def named(cls, name: str) -> "Function | None":
        """Return the declared function of a name in lower case and without leading `::`, None if there is none."""
        return cls._known.get(name)

    @classmethod
    def all(cls) -> "Iterator[tuple[str, Function]]":
        """Yield every function with its name; an alias is a name of its own."""
        for name in sorted(cls._known):
            yield name, cls._known[name]

    def dispatch(self, signature: str, *, pure: bool = True) -> Callable[[BodyT], BodyT]:
        """Declare the body for a signature; a body that is not pure gets the Call as its first argument."""

        def declare(body: BodyT) -> BodyT:
            parsed = Signature(signature)
            self.dispatches.append(Dispatch(parsed, body, pure and not parsed.block_text))
            return body

        return declare

    def call(
        self, host: Host, scope: Any, args: Sequence[Any], block: Block | None = None, span: Span | None = None
    ) -> Any:
        """Run the first dispatch that accepts the arguments. Raises InputError LANG-400 or LANG-401 if none does."""
        if host.has_unknowns and any(map(self._is_affected, args)):
            return self._call_with_unknown(host, scope, args, block, span)
        return self._call_known(host, scope, args, block, span)

    def _call_known(self, host: Host, scope: Any, args: Sequence[Any], block: Block | None, span: Span | None) -> Any:
        try:
            candidates = self._by_count[len(args)]
        except KeyError:
            candidates = self._candidates(len(args))
        for accepts, body, pure in candidates:
            if accepts(args, block):
                result = body(*args) if pure else body(Call(host, scope, block, span), *args)
                if type(result) is str:
                    note_result(args, result)
                return result
        return self.refuse(args, block)

    def _candidates(self, count: int) -> tuple[tuple[ArgumentCheck, Body, bool], ...]:
        """Return the dispatches that take a number of arguments, with their checks; cached for later calls."""
        candidates = tuple(
            (d.signature.make_check(count), d.body, d.pure) for d in self.dispatches if d.signature.accepts_count(count)
        )
        self._by_count[count] = candidates
        return candidates

    def _call_with_unknown(
        self, host: Host, scope: Any, args: Sequence[Any], block: Block | None, span: Span | None
    ) -> Any:
        if self.unknowns in (Unknowns.AGENT, Unknowns.TEXT) and block is None and any(map(is_late, args)):
            return host.defer(self.name, args)
        if self.unknowns is Unknowns.FLOW:
            known = [
                host.concrete(arg, span) if isinstance(arg, Unknown) and self._inspects(index) else arg
                for index, arg in enumerate(args)
            ]
        else:
            known = [host.concrete(arg, span) for arg in args]
        return self._call_known(host, scope, known, block, span)

    def _inspects(self, index: int) -> bool:
        """Return whether a signature restricts the type of an argument, so that its value must be known."""
        texts = [d.signature.parameters[min(index, len(d.signature.parameters) - 1)].type_text for d in self.dispatches]
        return any(text != "Any" for text in texts)

    def refuse(self, args: Sequence[Any], block: Block | None) -> NoReturn:
        """Raise the error for arguments that no dispatch accepts."""
        raise mismatch_error(self.name, [dispatch.signature for dispatch in self.dispatches], args, block)


def _is_unknown(value: Any) -> bool:
    return isinstance(value, Unknown)


def find(name: str) -> Function | None:
    """Return the built-in function of a name in lower case and without leading `::`; `library.load()` must have run."""
    return Function.named(name)


def functions() -> Iterator[tuple[str, Function]]:
    """Yield every built-in function with its name; an alias is a name of its own."""
    return Function.all()
