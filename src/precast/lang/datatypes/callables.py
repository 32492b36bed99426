"""Callable: the parameters and the result of a block, lambda or function. Parameters are contravariant."""

from typing import Final, Protocol, runtime_checkable

from precast.lang.datatypes.base import ANY, UNDEF, UNIT, Check, Seen, Size, Type, Write
from precast.lang.datatypes.collections import TupleType


@runtime_checkable
class HasCallable(Protocol):
    """A value that can be called, such as a block; `type` is a CallableType."""

    @property
    def type(self) -> Type: ...


class CallableType(Type):
    """A callable's type. None means any parameters for `parameters_type`, no block for `block`, any result for `returns`."""

    name = "Callable"

    def __init__(
        self, parameters_type: TupleType | None = None, block: Type | None = None, returns: Type | None = None
    ) -> None:
        self.parameters_type = parameters_type
        self.block = block
        self.returns = returns

    def parameters(self) -> tuple[object, ...]:
        return self.parameters_type, self.block, self.returns

    def arguments(self, write: Write) -> tuple[str, ...]:
        if self.parameters_type is None:
            return ()
        size = self.parameters_type.given_size
        types = () if self.parameters_type.types in ((), (UNIT,)) else self.parameters_type.types
        inner = [*map(write, types)]
        if size is not None:
            inner += size.texts()
        elif not types:
            inner += ["0", "0"]
        if self.block is not None:
            inner.append(write(self.block))
        return tuple(inner) if self.returns is None else (f"[{', '.join(inner)}]", write(self.returns))

    def build_check(self) -> Check:
        return lambda value: isinstance(value, HasCallable) and self.accepts(value.type)

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if not isinstance(other, CallableType):
            return False
        if self.returns is not None and not self.returns.accepts(other.returns or ANY, seen):
            return False
        if self.parameters_type is None:
            return True
        if other.parameters_type is None or not other.parameters_type.accepts(self.parameters_type, seen):
            return False
        return (other.block or UNDEF).accepts(self.block or UNDEF, seen)

    def generalized(self) -> Type:
        given, block, returns = self.parameters_type, self.block, self.returns
        return CallableType(
            None if given is None else TupleType((t.generalized() for t in given.types), given.given_size),
            None if block is None else block.generalized(),
            None if returns is None else returns.generalized(),
        )


def parameters_of(types: tuple[Type, ...], size: Size | None = None) -> TupleType:
    """The parameters of a Callable; a Callable without parameters has an empty tuple."""
    if not types:
        return TupleType((UNIT,), size or Size(0, 0))
    return TupleType(types, size)


CALLABLE: Final = CallableType()
