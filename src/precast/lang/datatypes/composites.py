"""Types made of other types: Variant, Optional, NotUndef, Type, Sensitive."""

from collections.abc import Iterable
from typing import Final

from precast.lang.datatypes.base import ANY, UNDEF, Check, Seen, Type, Write
from precast.lang.datatypes.scalars import StringType
from precast.lang.values import base as values
from precast.lang.values.base import Value, quoted


class VariantType(Type):
    """One of several types."""

    name = "Variant"

    def __init__(self, types: tuple[Type, ...] = ()) -> None:
        self.types = types

    def parameters(self) -> tuple[object, ...]:
        return (frozenset(self.types),)

    def arguments(self, write: Write) -> tuple[str, ...]:
        return tuple(map(write, self.types))

    def build_check(self) -> Check:
        checks = tuple(t.check for t in self.types)
        if len(checks) == 2:
            first, second = checks
            return lambda value: first(value) or second(value)

        def check(value: Value) -> bool:
            for known in checks:  # noqa: SIM110  a generator would cost more than the check
                if known(value):
                    return True
            return False

        return check

    def fits_into(self, wanted: Type, seen: Seen) -> bool:
        if wanted is ANY:
            return True
        if not self.types:
            if isinstance(wanted, NotUndefType):
                return wanted.inner is None or self.fits_into(wanted.inner, seen)
            return isinstance(wanted, VariantType) and not wanted.types
        return all(wanted.accepts(t, seen) for t in self.types)

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return any(t.accepts(other, seen) for t in self.types)

    def generalized(self) -> Type:
        return variant(t.generalized() for t in self.types) if self.types else self

    def iterated(self) -> Type | None:
        elements = [t.iterated() for t in self.types]
        known = [element for element in elements if element is not None]
        return variant(known) if known and len(known) == len(elements) else None


def variant(types: Iterable[Type]) -> Type:
    """The Variant of these types, flat and without duplicates; a single type is returned itself."""
    flat: dict[Type, None] = {}
    for given in types:
        for member in given.types if isinstance(given, VariantType) else (given,):
            flat[member] = None
    return next(iter(flat)) if len(flat) == 1 else VariantType(tuple(flat))


class _Wrapping(Type):
    """A type around at most one other."""

    def __init__(self, inner: Type | None = None) -> None:
        self.inner = inner

    def parameters(self) -> tuple[object, ...]:
        return (self.inner,)

    def arguments(self, write: Write) -> tuple[str, ...]:
        return () if self.inner is None else (write(self.inner),)


class _WrappingKey(_Wrapping):
    """As _Wrapping, but a literal string is written as itself: the key of a Struct."""

    def arguments(self, write: Write) -> tuple[str, ...]:
        if isinstance(self.inner, StringType) and self.inner.literal is not None:
            return (quoted(self.inner.literal),)
        return super().arguments(write)


class OptionalType(_WrappingKey):
    """undef or the inner type."""

    name = "Optional"

    def build_check(self) -> Check:
        if self.inner is None:
            return lambda value: value is None
        inner = self.inner.check
        return lambda value: value is None or inner(value)

    def fits_into(self, wanted: Type, seen: Seen) -> bool:
        return wanted.accepts(UNDEF, seen) and (self.inner is None or wanted.accepts(self.inner, seen))

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return self.inner is None or other == UNDEF or self.inner.accepts(other, seen)

    def generalized(self) -> Type:
        return self if self.inner is None else OptionalType(self.inner.generalized())

    def iterated(self) -> Type | None:
        return None if self.inner is None else self.inner.iterated()


class NotUndefType(_WrappingKey):
    """The inner type except undef."""

    name = "NotUndef"

    def arguments(self, write: Write) -> tuple[str, ...]:
        return () if self.inner == ANY else super().arguments(write)

    def build_check(self) -> Check:
        if self.inner is None:
            return lambda value: value is not None
        inner = self.inner.check
        return lambda value: value is not None and inner(value)

    def fits_into(self, wanted: Type, seen: Seen) -> bool:
        if self.inner is not None and not self.inner.accepts(UNDEF):
            return wanted.accepts(self.inner, seen)
        return wanted._accepts(self, seen)

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return not other.accepts(UNDEF) and (self.inner is None or self.inner.accepts(other, seen))

    def generalized(self) -> Type:
        return self if self.inner is None else NotUndefType(self.inner.generalized())

    def iterated(self) -> Type | None:
        return None if self.inner is None else self.inner.iterated()


class TypeType(_Wrapping):
    """A type that the inner type accepts."""

    name = "Type"

    def build_check(self) -> Check:
        inner = self.inner
        return lambda value: isinstance(value, Type) and (inner is None or inner.accepts(value))

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if not isinstance(other, TypeType):
            return False
        return self.inner is None or (other.inner is not None and self.inner.accepts(other.inner, seen))

    def generalized(self) -> Type:
        return self if self.inner is None else TypeType(self.inner.generalized())

    def iterated(self) -> Type | None:
        return None if self.inner is None else self.inner.iterated_as_value()


class SensitiveType(_Wrapping):
    """A Sensitive around the inner type, which is generalized: the type must not reveal the hidden value."""

    name = "Sensitive"

    def __init__(self, inner: Type | None = None) -> None:
        super().__init__(None if inner is None else inner.generalized())

    def arguments(self, write: Write) -> tuple[str, ...]:
        return () if self.inner == ANY else super().arguments(write)

    def build_check(self) -> Check:
        if self.inner is None:
            return lambda value: isinstance(value, values.Sensitive)
        inner = self.inner.check
        return lambda value: isinstance(value, values.Sensitive) and inner(value.unwrap())

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, SensitiveType) and (self.inner or ANY).accepts(other.inner or ANY, seen)


VARIANT: Final = VariantType()
OPTIONAL: Final = OptionalType()
NOT_UNDEF: Final = NotUndefType()
TYPE: Final = TypeType()
SENSITIVE: Final = SensitiveType()
