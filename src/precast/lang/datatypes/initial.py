"""Init[T]: the values that `T.new` would take."""

from typing import Final, Protocol

from precast.lang.datatypes.base import Check, Seen, Type, Write
from precast.lang.values import Value, literal


class CanCreate(Protocol):
    """Whether `type.new(*arguments)` succeeds."""

    def __call__(self, wanted: Type, arguments: tuple[Value, ...], /) -> bool: ...


_can_create: list[CanCreate] = []


def provide(answer: CanCreate) -> None:
    """Conversions know what can be made; they stand below the types, so they come in here, once."""
    _can_create[:] = [answer]


class InitType(Type):
    """A value from which the inner type can be made, with further arguments."""

    name = "Init"

    def __init__(self, inner: Type | None = None, further: tuple[Value, ...] = ()) -> None:
        self.inner = inner
        self.further = further

    def parameters(self) -> tuple[object, ...]:
        return self.inner, self.further

    def arguments(self, write: Write) -> tuple[str, ...]:
        if self.inner is None:
            return ()
        return write(self.inner), *(write(a) if isinstance(a, Type) else literal(a) for a in self.further)

    def build_check(self) -> Check:
        from precast.lang.datatypes.groups import RICH_DATA

        if self.inner is None:
            return RICH_DATA.check
        inner, further = self.inner, self.further

        def check(value: Value) -> bool:
            if inner.check(value):
                return True
            can = _can_create[0]
            return can(inner, (value, *further)) or (
                not further and isinstance(value, tuple) and len(value) > 0 and can(inner, value)
            )

        return check

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if isinstance(other, InitType):
            return self.inner is None or (
                other.inner is not None and self.inner.accepts(other.inner, seen) and self.further == other.further
            )
        return self.inner is None or self.inner.accepts(other, seen)


INIT: Final = InitType()
