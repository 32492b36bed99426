"""What can be iterated, as a sequence: Array, Hash (its entries), String, Integer, ranges, Enum, Iterator.

A sequence is sliced, not copied into lists: `step` and `reverse_each` over a range of a billion numbers cost nothing.
"""

from collections.abc import Sequence
from typing import Any

from precast.lang import datatypes
from precast.lang.datatypes.base import UNIT, Size
from precast.lang.datatypes.collections import TupleType
from precast.lang.datatypes.scalars import EnumType, IntegerType
from precast.lang.functions import issues
from precast.lang.values.core import Hash, Iterator


def sequence(value: Any) -> Sequence[Any]:
    """The elements of a value that a signature has found to be Iterable. Raises LANG-462 for more than can be gone through."""
    items = unbounded(value)
    if isinstance(items, range) and items[MOST:]:
        raise issues.TOO_MANY.error(most=MOST)
    return items


def unbounded(value: Any) -> Sequence[Any]:
    """The elements, however many: for what only narrows a range."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, Hash):
        return entries(value)
    if isinstance(value, str):
        return tuple(value)
    if isinstance(value, int):
        return range(value)
    if isinstance(value, Iterator):
        return value.items
    return type_elements(value.resolved())


# A block for each of so many takes half a minute.
MOST = 10_000_000


def entries(value: Hash) -> tuple[tuple[Any, Any], ...]:
    """The entries of a Hash as pairs."""
    return tuple(value.items())


def type_elements(value: Any) -> Sequence[Any]:
    """The elements of a type that has finitely many: an Integer range or an Enum."""
    if isinstance(value, IntegerType):
        assert value.low is not None
        assert value.high is not None
        return range(value.low, value.high + 1)
    assert isinstance(value, EnumType)
    return value.values


class Entries(Iterator):
    """An Iterator over entries of a hash, which gives a block of two parameters key and value, as the hash does."""

    __slots__ = ()

    def rich_name(self) -> str:
        return "Iterator"


def lazy(items: Sequence[Any], of: Any, keeps_entries: bool = False) -> Iterator:
    """An Iterator over items, of the element type that the value they come from has; it may still be one of entries."""
    made = Entries if keeps_entries and isinstance(of, Hash | Entries) else Iterator
    if isinstance(of, Iterator):
        return made(items, of.element_type)
    kind = of if isinstance(of, datatypes.Type) else datatypes.infer(of)
    element = kind.iterated_as_value() if kind is of else kind.iterated()
    if isinstance(element, TupleType):  # an entry of a hash, whose size Puppet writes out
        element = TupleType(element.types, Size(2, 2))
    if of == 0:
        element = UNIT
    return made(items, element or datatypes.ANY)
