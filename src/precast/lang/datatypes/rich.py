"""The types of Binary and URI values, of Ruby classes (Runtime), and the base of all Object types."""

from typing import Final

from precast.lang.datatypes.base import Check, Seen, Type, Write
from precast.lang.values import base as values
from precast.lang.values.base import Hash, Value, literal, quoted
from precast.lang.values.regexps import compile_regexp
from precast.lang.values.uris import URI


class ObjectLike(Type):
    """Types whose instances are objects: Object types, TypeSets, and the core types made of them."""


class BinaryType(Type):
    """Bytes."""

    name = "Binary"

    def build_check(self) -> Check:
        return lambda value: isinstance(value, values.Binary)

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, BinaryType)


class URIType(Type):
    """A URI whose parts match; each part is a string, an Integer, a regular expression or a type."""

    name = "URI"

    def __init__(self, parts: Hash | None = None) -> None:
        self.wanted = parts or Hash()

    def parameters(self) -> tuple[object, ...]:
        return (self.wanted,)

    def arguments(self, write: Write) -> tuple[str, ...]:
        if not self.wanted:
            return ()
        entries = (f"{quoted(k)} => {write(v) if isinstance(v, Type) else literal(v)}" for k, v in self.wanted.items())
        return (f"{{{', '.join(entries)}}}",)

    def build_check(self) -> Check:
        wanted = tuple(self.wanted.items())
        return lambda value: isinstance(value, URI) and all(part_fits(want, getattr(value, k)) for k, want in wanted)

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if not isinstance(other, URIType):
            return False
        return all(parameter_covers(want, other.wanted.get(key)) for key, want in self.wanted.items())

    def generalized(self) -> Type:
        return URI_TYPE


def part_fits(want: Value, value: Value) -> bool:
    """Whether an attribute satisfies a type's parameter: it is equal, it matches, or it is an instance."""
    if isinstance(want, Type):
        return want.check(value)
    if isinstance(want, values.Regexp):
        return isinstance(value, str) and compile_regexp(want.pattern).search(value) is not None
    return bool(values.identity_of(want) == values.identity_of(value))


def parameter_covers(want: Value, have: Value) -> bool:
    """Whether a parameter accepts everything that another accepts."""
    if isinstance(have, Type):
        return isinstance(want, Type) and want.accepts(have)
    if isinstance(have, values.Regexp):
        return bool(want == have)
    return part_fits(want, have)


class RuntimeType(Type):
    """A class of the runtime, by name. None of our values is an instance; only signatures use it."""

    name = "Runtime"

    def __init__(self, runtime: str | None = None, type_name: str | None = None) -> None:
        self.runtime = runtime
        self.type_name = type_name

    def parameters(self) -> tuple[object, ...]:
        return self.runtime, self.type_name

    def arguments(self, write: Write) -> tuple[str, ...]:
        if self.runtime is None:
            return ()
        return (self.runtime,) if self.type_name is None else (self.runtime, quoted(self.type_name))

    def build_check(self) -> Check:
        return lambda value: False

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if not isinstance(other, RuntimeType):
            return False
        if self.runtime is None or self.runtime != other.runtime:
            return self.runtime is None
        return self.type_name is None or self.type_name == other.type_name


BINARY: Final = BinaryType()
URI_TYPE: Final = URIType()
RUNTIME: Final = RuntimeType()
