"""Iterable, by the type of the values it yields, and Iterator, for lazy sequences."""

from collections.abc import Callable
from typing import Final

from precast.lang.datatypes.base import ANY, Check, Seen, Type, Write
from precast.lang.datatypes.scalars import IntegerType
from precast.lang.values import base as values
from precast.lang.values.base import Hash, Value


class IterableType(Type):
    """A value that can be iterated."""

    name = "Iterable"

    def __init__(self, element: Type | None = None) -> None:
        self.element = element

    def parameters(self) -> tuple[object, ...]:
        return (self.element,)

    def arguments(self, write: Write) -> tuple[str, ...]:
        return () if self.element is None else (write(self.element),)

    def build_check(self) -> Check:
        if self.element is None or self.element == ANY:
            return is_iterable
        wanted = self.element

        def check(value: Value) -> bool:
            element = _element_of(value)
            return element is not None and wanted.accepts(element)

        return check

    def _accepts(self, other: Type, seen: Seen) -> bool:
        element = other.iterated()
        return element is not None and (self.element or ANY).accepts(element, seen)

    def generalized(self) -> Type:
        return self if self.element is None else IterableType(self.element.generalized())

    def iterated(self) -> Type | None:
        return self.element or ANY


def _element_of(value: Value) -> Type | None:
    """The type of the values that a value yields, inferred from all its elements; None if it cannot be iterated."""
    if isinstance(value, values.Iterator):
        return value.element_type if isinstance(value.element_type, Type) else ANY
    if isinstance(value, Type):
        return value.iterated_as_value()
    if isinstance(value, int) and not isinstance(value, bool):
        return IntegerType(0, max(value - 1, 0)) if value >= 0 else None
    return _INFER[0](value).iterated()


_INFER: list[Callable[[Value], Type]] = []


def provide_inference(infer_reduced: Callable[[Value], Type]) -> None:
    """Set the inference function, once: it imports the types, so the types cannot import it."""
    _INFER[:] = [infer_reduced]


_ITERABLE: Final = (tuple, str, Hash, values.Iterator)  # built once: every iteration uses it


def is_iterable(value: Value) -> bool:
    """Whether a value can be iterated at all."""
    if isinstance(value, _ITERABLE):
        return True
    if isinstance(value, Type):
        return value.iterated_as_value() is not None
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


class IteratorType(Type):
    """The lazy sequences of `step`, `reverse_each` and similar functions."""

    name = "Iterator"

    def __init__(self, element: Type | None = None) -> None:
        self.element = element

    def parameters(self) -> tuple[object, ...]:
        return (self.element,)

    def arguments(self, write: Write) -> tuple[str, ...]:
        return () if self.element is None else (write(self.element),)

    def build_check(self) -> Check:
        element = self.element
        return lambda value: (
            isinstance(value, values.Iterator) and (element is None or element.accepts(value.element_type))
        )

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if not isinstance(other, IteratorType):
            return False
        return self.element is None or (other.element is not None and self.element.accepts(other.element, seen))

    def generalized(self) -> Type:
        return self if self.element is None else IteratorType(self.element.generalized())

    def iterated(self) -> Type | None:
        return self.element or ANY


ITERABLE: Final = IterableType()
ITERATOR: Final = IteratorType()
