"""The types of containers: Collection, Array, Hash, Tuple, Struct."""

from collections.abc import Iterable
from typing import Final

from precast.lang.datatypes.base import ANY, ANY_SIZE, EMPTY_SIZE, UNDEF, UNIT, Check, Seen, Size, Type, Write, by_size
from precast.lang.datatypes.composites import variant
from precast.lang.datatypes.scalars import StringType
from precast.lang.values.base import Hash, Value, quoted

_COLLECTIONS: Final = (tuple, Hash)


class CollectionType(Type):
    """An Array or a Hash of a size. `given_size` is None if no size was written."""

    name = "Collection"

    def __init__(self, size: Size | None = None) -> None:
        self.given_size = size

    @property
    def size(self) -> Size:
        return self.given_size or ANY_SIZE

    def parameters(self) -> tuple[object, ...]:
        return (self.size,)

    def arguments(self, write: Write) -> tuple[str, ...]:
        return () if self.given_size is None else self.given_size.texts()

    def build_check(self) -> Check:
        return by_size(self.size, lambda value: isinstance(value, _COLLECTIONS))

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, CollectionType) and self.size.covers(other.size)

    def generalized(self) -> Type:
        return COLLECTION

    def iterated(self) -> Type | None:
        return ANY


class ArrayType(CollectionType):
    """An Array of one element type."""

    name = "Array"

    def __init__(self, element: Type = ANY, size: Size | None = None) -> None:
        super().__init__(size)
        self.element = UNIT if size == EMPTY_SIZE else element

    def parameters(self) -> tuple[object, ...]:
        return self.element, self.size

    def arguments(self, write: Write) -> tuple[str, ...]:
        if self.given_size == EMPTY_SIZE:
            return self.given_size.texts()
        if self.given_size is None:
            return () if self.element == ANY else (write(self.element),)
        return write(self.element), *self.given_size.texts()

    def build_check(self) -> Check:
        if self.element == ANY or self.given_size == EMPTY_SIZE:
            return by_size(self.size, lambda value: isinstance(value, tuple))
        element, low, high = self.element.check, self.size.low, self.size.high

        def check(value: Value) -> bool:
            if not isinstance(value, tuple) or len(value) < low or (high is not None and len(value) > high):
                return False
            return all(map(element, value))

        return check

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if isinstance(other, TupleType):
            return self.size.covers(other.size) and all(self.element.accepts(t, seen) for t in other.reachable())
        if not isinstance(other, ArrayType) or not self.size.covers(other.size):
            return False
        return other.size.high == 0 or self.element.accepts(other.element, seen)

    def generalized(self) -> Type:
        return ARRAY if self.element == ANY else ArrayType(self.element.generalized())

    def iterated(self) -> Type | None:
        return self.element


class HashType(CollectionType):
    """A Hash of one key type and one value type."""

    name = "Hash"

    def __init__(self, key: Type = ANY, value: Type = ANY, size: Size | None = None) -> None:
        super().__init__(size)
        self.key_type = UNIT if size == EMPTY_SIZE else key
        self.value_type = UNIT if size == EMPTY_SIZE else value

    def parameters(self) -> tuple[object, ...]:
        return self.key_type, self.value_type, self.size

    def arguments(self, write: Write) -> tuple[str, ...]:
        if self.given_size == EMPTY_SIZE:
            return self.given_size.texts()
        if self.given_size is None and self.key_type == ANY and self.value_type == ANY:
            return ()
        return write(self.key_type), write(self.value_type), *(self.given_size.texts() if self.given_size else ())

    def build_check(self) -> Check:
        if (self.key_type == ANY and self.value_type == ANY) or self.given_size == EMPTY_SIZE:
            return by_size(self.size, lambda value: isinstance(value, Hash))
        key, item, low, high = self.key_type.check, self.value_type.check, self.size.low, self.size.high

        def check(value: Value) -> bool:
            if not isinstance(value, Hash) or len(value) < low or (high is not None and len(value) > high):
                return False
            return all(map(key, value)) and all(map(item, value.values()))

        return check

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if isinstance(other, StructType):
            return self.size.covers(other.size) and all(
                self.key_type.accepts(member.key_string, seen) and self.value_type.accepts(member.value, seen)
                for member in other.members
            )
        if not isinstance(other, HashType) or not self.size.covers(other.size):
            return False
        return other.size.high == 0 or (
            self.key_type.accepts(other.key_type, seen) and self.value_type.accepts(other.value_type, seen)
        )

    def generalized(self) -> Type:
        if self.key_type == ANY and self.value_type == ANY:
            return HASH
        if self.given_size == EMPTY_SIZE:
            return self
        return HashType(self.key_type.generalized(), self.value_type.generalized())

    def iterated(self) -> Type | None:
        return TupleType((self.key_type, self.value_type))


class TupleType(CollectionType):
    """An Array with a type for each position; the last type repeats if the size allows more elements."""

    name = "Tuple"

    def __init__(self, types: Iterable[Type] = (), size: Size | None = None) -> None:
        super().__init__(size)
        self.types = tuple(types)

    @property
    def size(self) -> Size:
        if self.given_size is not None:
            return self.given_size
        return Size(len(self.types), len(self.types)) if self.types else ANY_SIZE

    def parameters(self) -> tuple[object, ...]:
        return self.types, self.size

    def arguments(self, write: Write) -> tuple[str, ...]:
        return *map(write, self.types), *(self.given_size.texts() if self.given_size else ())

    def at(self, index: int) -> Type:
        """The type of the element at an index."""
        return self.types[min(index, len(self.types) - 1)] if self.types else ANY

    def reachable(self) -> tuple[Type, ...]:
        """The types that elements of an instance can have."""
        high = self.size.high
        return self.types if high is None else self.types[:high]

    def build_check(self) -> Check:
        if not self.types:
            return by_size(self.size, lambda value: isinstance(value, tuple))
        checks = [t.check for t in self.types]
        low, high, last = self.size.low, self.size.high, checks[-1]
        count = len(checks)

        def check(value: Value) -> bool:
            if not isinstance(value, tuple) or len(value) < low or (high is not None and len(value) > high):
                return False
            return all(
                matches(item) for matches, item in zip(checks, value, strict=False)
            ) and all(map(last, value[count:]))  # fmt: skip

        return check

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if not self.types:
            return isinstance(other, TupleType | ArrayType) and self.size.covers(other.size)
        if isinstance(other, ArrayType):
            if not self.size.covers(other.size):
                return False
            if other.size.high == 0:
                return True
            return all(t.accepts(other.element, seen) for t in self.types)
        if not isinstance(other, TupleType) or not self.size.covers(other.size):
            return False
        if not other.types:
            return self.size.low == 0 and all(t == ANY for t in self.types)
        places = max(len(other.reachable()), len(self.types) if other.size.high is None else 0)
        return all(self.at(i).accepts(other.at(i), seen) for i in range(places))

    def generalized(self) -> Type:
        return TupleType((t.generalized() for t in self.types), self.given_size) if self.types else self

    def iterated(self) -> Type | None:
        return ANY if not self.types else variant(self.types)


class Member:
    """A key of a Struct with the type of its value."""

    __slots__ = ("_form", "key", "value")

    def __init__(self, key: str, value: Type, form: str = "") -> None:
        self.key = key
        self.value = value
        self._form = form

    @property
    def form(self) -> str:
        """Optional or NotUndef around the key, if the value's type alone would mean the opposite.

        Evaluated only when the type is used, because the value's type may be an alias whose definition is being evaluated.
        """
        return "" if self._form and (self._form == "Optional") == self.value.accepts(UNDEF) else self._form

    @property
    def key_string(self) -> Type:
        return StringType(literal=self.key)

    @property
    def is_optional(self) -> bool:
        return self.form == "Optional" or (self.form == "" and self.value.accepts(UNDEF))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Member) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[object, ...]:
        return self.key, self.value, self.form

    def text(self, write: Write) -> str:
        key = quoted(self.key)
        return f"{f'{self.form}[{key}]' if self.form else key} => {write(self.value)}"


class StructType(CollectionType):
    """A Hash with known keys."""

    name = "Struct"

    def __init__(self, members: Iterable[Member] = ()) -> None:
        super().__init__()
        self.members = tuple(members)

    @property
    def size(self) -> Size:
        return Size(sum(not member.is_optional for member in self.members), len(self.members))

    def parameters(self) -> tuple[object, ...]:
        return self.members

    def arguments(self, write: Write) -> tuple[str, ...]:
        return (f"{{{', '.join(member.text(write) for member in self.members)}}}",) if self.members else ()

    def build_check(self) -> Check:
        checks = {member.key: member.value.check for member in self.members}
        required = [member.key for member in self.members if not member.is_optional]

        def check(value: Value) -> bool:
            if not isinstance(value, Hash):
                return False
            for key, item in value.items():
                known = checks.get(key) if type(key) is str else None
                if known is None or not known(item):
                    return False
            return all(key in value for key in required)

        return check

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if isinstance(other, StructType):
            theirs = {member.key: member for member in other.members}
            shared = 0
            for mine in self.members:
                their = theirs.get(mine.key)
                if their is None:
                    if not mine.is_optional:
                        return False
                else:
                    shared += 1
                    if (their.is_optional and not mine.is_optional) or not mine.value.accepts(their.value, seen):
                        return False
            return shared == len(theirs)
        if not isinstance(other, HashType):
            return False
        if not self.size.covers(other.size):
            return False
        return other.size.high == 0 or (
            STRUCT_KEY.accepts(other.key_type, seen)
            and all(m.value.accepts(other.value_type, seen) for m in self.members)
        )

    def generalized(self) -> Type:
        return StructType(Member(m.key, m.value.generalized(), m.form) for m in self.members)

    def iterated(self) -> Type | None:
        if not self.members:
            return HASH.iterated()
        keys = variant(tuple(m.key_string for m in self.members))
        return TupleType((keys, variant(tuple(m.value for m in self.members))))


COLLECTION: Final = CollectionType()
ARRAY: Final = ArrayType()
HASH: Final = HashType()
TUPLE: Final = TupleType()
STRUCT: Final = StructType()
EMPTY_ARRAY: Final = ArrayType(UNIT, EMPTY_SIZE)
EMPTY_HASH: Final = HashType(UNIT, UNIT, EMPTY_SIZE)
STRUCT_KEY: Final = StringType(Size(1))
