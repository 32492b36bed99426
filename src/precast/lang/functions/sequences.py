"""Turns everything that can be iterated into a sequence: Array, Hash (its entries), String, Integer, ranges, Enum, Iterator.

Sequences are sliced and not copied into lists, so that `step` and `reverse_each` over a range of a billion numbers cost nothing.
"""

from collections.abc import Sequence
from typing import Any

from precast.lang import datatypes
from precast.lang.datatypes.base import UNIT, Size
from precast.lang.datatypes.collections import TupleType
from precast.lang.datatypes.scalars import EnumType, IntegerType
from precast.lang.issues import functions as issues
from precast.lang.values.base import Hash, Iterator


def sequence(value: Any) -> Sequence[Any]:
    """Return the elements of a value that is known to be Iterable. Raises LANG-462 if there are too many to iterate over."""
    items = unbounded(value)
    if isinstance(items, range) and items[MAX_ELEMENTS:]:
        raise issues.TOO_MANY.error(most=MAX_ELEMENTS)
    return items


def unbounded(value: Any) -> Sequence[Any]:
    """Return the elements without a limit, for functions that only narrow a range."""
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


# A block for each of this many elements takes half a minute.
MAX_ELEMENTS = 10_000_000


def entries(value: Hash) -> tuple[tuple[Any, Any], ...]:
    """Return the entries of a Hash as pairs."""
    return tuple(value.items())


def type_elements(value: Any) -> Sequence[Any]:
    """Return the elements of a type that has finitely many: an Integer range or an Enum."""
    if isinstance(value, IntegerType):
        assert value.low is not None
        assert value.high is not None
        return range(value.low, value.high + 1)
    assert isinstance(value, EnumType)
    return value.values


class Entries(Iterator):
    """An Iterator over the entries of a hash: a block of two parameters gets key and value, as with the hash itself."""

    __slots__ = ()

    def rich_name(self) -> str:
        return "Iterator"


def make_iterator(items: Sequence[Any], of: Any, keeps_entries: bool = False) -> Iterator:
    """Return an Iterator over items with the element type of the value `of` that they come from."""
    iterator_class = Entries if keeps_entries and isinstance(of, Hash | Entries) else Iterator
    if isinstance(of, Iterator):
        return iterator_class(items, of.element_type)
    kind = of if isinstance(of, datatypes.Type) else datatypes.infer(of)
    element = kind.iterated_as_value() if kind is of else kind.iterated()
    if isinstance(element, TupleType):  # an entry of a hash, whose size Puppet includes
        element = TupleType(element.types, Size(2, 2))
    if of == 0:
        element = UNIT
    return iterator_class(items, element or datatypes.ANY)
