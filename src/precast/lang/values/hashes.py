"""Puppet's Hash, and what tells its keys apart.

Python takes 1, 1.0 and true for one key, in tuples too; Ruby does not. The keys that Python would confuse are wrapped in subclasses
with an equality of their own, which no reader need know of; all others, strings above all, stand as they are.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

Value = Any


class FloatKey(float):
    """A Float as key of a Hash: 1.0 is another key than 1."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FloatKey) and float(self) == float(other)

    def __hash__(self) -> int:
        return hash(("Float", float(self)))


class IntegerKey(int):
    """The Integers 0 and 1 as keys of a Hash that has the same Boolean as a key too."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntegerKey) and int(self) == int(other)

    def __hash__(self) -> int:
        return hash(("Integer", int(self)))


class ArrayKey(tuple[Value, ...]):
    """An Array as key of a Hash: its elements are told apart by kind."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayKey) and strict(tuple(self)) == strict(tuple(other))

    def __hash__(self) -> int:
        return hash(strict(tuple(self)))


_BOTH = (0, 1)  # also true and false: what Python takes for equal
_MISSING: Final = object()


class Hash(dict[Value, Value]):
    """A Puppet Hash: ordered, frozen by agreement. String keys are used as in any dict; other keys go through its methods."""

    __slots__ = ("_hash",)

    _hash: int

    @classmethod
    def of(cls, pairs: Iterable[tuple[Value, Value]]) -> "Hash":
        """The Hash of these entries; a later entry with the same key replaces the value and keeps the place."""
        made = cls()
        for key, value in pairs:
            dict.__setitem__(made, key if type(key) is str else made._place(key), value)
        return made

    def _place(self, key: Value) -> Value:
        """The key to store under: the one that is there already, or the given one in a form that collides with no other."""
        if isinstance(key, float):
            return FloatKey(key)
        if isinstance(key, tuple):
            return ArrayKey(key)
        if isinstance(key, int) and key in _BOTH:
            found = self._stored(key)
            if found is not _MISSING:
                return found
            if dict.__contains__(self, key):
                if type(key) is not bool:
                    return IntegerKey(key)
                self._wrap_integer(key)
        return key

    def _wrap_integer(self, key: bool) -> None:
        """Make room for a Boolean key where the Integer has its place."""
        entries = list(self.items())
        dict.clear(self)
        for old, value in entries:
            same = type(old) is int and old == key
            dict.__setitem__(self, IntegerKey(old) if same else old, value)

    def _stored(self, key: Value) -> Value:
        if isinstance(key, int) and key in _BOTH:
            wanted = type(key) is bool
            return next(
                (k for k in self if isinstance(k, int) and int(k) == key and (type(k) is bool) == wanted), _MISSING
            )
        key = FloatKey(key) if isinstance(key, float) else ArrayKey(key) if isinstance(key, tuple) else key
        return key if dict.__contains__(self, key) else _MISSING

    def lookup(self, key: Value, default: Value = None) -> Value:
        """The value under a key of any kind."""
        if type(key) is str:
            return dict.get(self, key, default)
        found = self._stored(key)
        return default if found is _MISSING else dict.__getitem__(self, found)

    def has(self, key: Value) -> bool:
        return dict.__contains__(self, key) if type(key) is str else self._stored(key) is not _MISSING

    def merged(self, other: Mapping[Value, Value]) -> "Hash":
        """This Hash with the entries of the other over it."""
        made = Hash(self)  # its keys have their form already
        for key, value in other.items():
            dict.__setitem__(made, key if type(key) is str else made._place(key), value)
        return made

    def __hash__(self) -> int:  # type: ignore[override]
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(strict(self))
            return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Hash) and len(self) == len(other) and strict(self) == strict(other))

    def __ne__(self, other: object) -> bool:
        return not self == other


def strict(value: Value) -> Value:
    """Something hashable that is equal only for values of the same kind and content, as Ruby's eql? (sets, unique, keys)."""
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value
    if isinstance(value, bool):
        return ("Boolean", value)
    if isinstance(value, float):
        return ("Float", float(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, tuple):
        return ("Array", tuple(map(strict, value)))
    if isinstance(value, Hash):
        return ("Hash", frozenset((strict(k), strict(v)) for k, v in value.items()))
    return value
