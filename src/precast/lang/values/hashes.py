"""Puppet's Hash, and how its keys are distinguished.

Python treats 1, 1.0 and true as the same key, in tuples too; Ruby does not. Keys that Python would confuse are wrapped in subclasses
with their own equality, which callers need not know about; all others, mostly strings, are stored as they are.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

Value = Any


class FloatKey(float):
    """A Float as a key of a Hash: 1.0 and 1 are different keys."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FloatKey) and float(self) == float(other)

    def __hash__(self) -> int:
        return hash(("Float", float(self)))


class IntegerKey(int):
    """The Integer 0 or 1 as a key of a Hash that also has the equal Boolean as a key."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntegerKey) and int(self) == int(other)

    def __hash__(self) -> int:
        return hash(("Integer", int(self)))


class ArrayKey(tuple[Value, ...]):
    """An Array as a key of a Hash: its elements are distinguished by kind."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayKey) and identity_of(tuple(self)) == identity_of(tuple(other))

    def __hash__(self) -> int:
        return hash(identity_of(tuple(self)))


_AMBIGUOUS = (0, 1)  # also true and false: Python treats them as equal
_MISSING: Final = object()


class Hash(dict[Value, Value]):
    """A Puppet Hash: ordered, immutable by convention. Use string keys as in any dict; use the methods for other keys."""

    __slots__ = ("_hash",)

    _hash: int

    @classmethod
    def of(cls, pairs: Iterable[tuple[Value, Value]]) -> "Hash":
        """The Hash of these entries; a later entry with the same key replaces the value and keeps the position."""
        result = cls()
        for key, value in pairs:
            dict.__setitem__(result, key if type(key) is str else result._storage_key(key), value)
        return result

    def _storage_key(self, key: Value) -> Value:
        """The key to store under: the present one, or the given one in a form that collides with no other."""
        if isinstance(key, float):
            return FloatKey(key)
        if isinstance(key, tuple):
            return ArrayKey(key)
        if isinstance(key, int) and key in _AMBIGUOUS:
            stored = self._stored(key)
            if stored is not _MISSING:
                return stored
            if dict.__contains__(self, key):
                if type(key) is not bool:
                    return IntegerKey(key)
                self._wrap_integer(key)
        return key

    def _wrap_integer(self, key: bool) -> None:
        """Make room for a Boolean key where the equal Integer is stored."""
        entries = list(self.items())
        dict.clear(self)
        for old, value in entries:
            same = type(old) is int and old == key
            dict.__setitem__(self, IntegerKey(old) if same else old, value)

    def _stored(self, key: Value) -> Value:
        if isinstance(key, int) and key in _AMBIGUOUS:
            wanted = type(key) is bool
            return next(
                (k for k in self if isinstance(k, int) and int(k) == key and (type(k) is bool) == wanted), _MISSING
            )
        key = FloatKey(key) if isinstance(key, float) else ArrayKey(key) if isinstance(key, tuple) else key
        return key if dict.__contains__(self, key) else _MISSING

    def lookup(self, key: Value, default: Value = None) -> Value:
        """The value for a key of any kind."""
        if type(key) is str:
            return dict.get(self, key, default)
        stored = self._stored(key)
        return default if stored is _MISSING else dict.__getitem__(self, stored)

    def has(self, key: Value) -> bool:
        return dict.__contains__(self, key) if type(key) is str else self._stored(key) is not _MISSING

    def merged(self, other: Mapping[Value, Value]) -> "Hash":
        """This Hash, with the entries of the other replacing and extending its own."""
        result = Hash(self)  # its keys are in storage form already
        for key, value in other.items():
            dict.__setitem__(result, key if type(key) is str else result._storage_key(key), value)
        return result

    def __hash__(self) -> int:  # type: ignore[override]
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(identity_of(self))
            return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Hash) and len(self) == len(other) and identity_of(self) == identity_of(other)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other


def identity_of(value: Value) -> Value:
    """A hashable stand-in that is equal only for values of the same kind and content, like Ruby's eql? (sets, unique, keys)."""
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
        return ("Array", tuple(map(identity_of, value)))
    if isinstance(value, Hash):
        return ("Hash", frozenset((identity_of(k), identity_of(v)) for k, v in value.items()))
    return value
