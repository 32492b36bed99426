"""The data that expressions read: frozen values, and mappings that note what is read of them.

Equal values get the same *token*. A token stands for its value wherever two are compared or a result is looked up, so that large values
that all nodes share are converted once and never compared.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

ABSENT: Final = -1  # the token of a key that does not exist
WHOLE: Final = object()  # in the place of a key: all of a document

# What has been read: of which document, which key, and the token of the value.
Note = Callable[[str, Any, Hashable], None]
_split = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class FrozenMapping(Mapping[Any, Any]):
    """A mapping that never changes, and whose values never change."""

    __slots__ = ("_hash", "_items")

    def __init__(self, items: dict[Any, Any]) -> None:
        self._items = items
        self._hash: int | None = None

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenMapping):
            return self._items == other._items
        return Mapping.__eq__(self, other)

    def __hash__(self) -> int:
        if self._hash is None:
            # As yaql's own mappings have it, because both may be equal.
            self._hash = 0
            for pair in self._items.items():
                self._hash ^= hash(pair)
        return self._hash

    def __repr__(self) -> str:
        return f"a mapping with {len(self._items)} keys"


class FrozenList(tuple[Any, ...]):
    """A list that never changes, and whose items never change."""

    __slots__ = ()


def freeze(value: Any) -> Any:
    """Plain data as frozen values."""
    if isinstance(value, dict):
        return FrozenMapping({key: freeze(item) for key, item in value.items()})
    if isinstance(value, list):
        return FrozenList(map(freeze, value))
    return value


class Held:
    """A value and its token."""

    __slots__ = ("token", "value")

    def __init__(self, token: int, value: Any) -> None:
        self.token = token
        self.value = value


class Document:
    """A mapping from outside."""

    def __init__(self, token: Hashable, values: Mapping[str, Held]) -> None:
        self._token = token
        self._values = values
        self._whole: FrozenMapping | None = None

    def token(self, key: Any) -> Hashable:
        """The token of the value of a key, or of the whole."""
        if key is WHOLE:
            return self._token
        held = self._values.get(key)
        return ABSENT if held is None else held.token

    def find(self, key: Any) -> Held | None:
        return self._values.get(key)

    def whole(self) -> FrozenMapping:
        if self._whole is None:
            # Equal documents must have their keys in the same order, since results are shared.
            self._whole = FrozenMapping({key: self._values[key].value for key in sorted(self._values)})
        return self._whole

    def over(self, lower: "Document") -> "Document":
        """Both together; of a key that both have, the value of this one."""
        return Document((lower._token, self._token), {**lower._values, **self._values})


NO_DATA: Final = Document(ABSENT, {})


class ValueTable:
    """Gives equal values the same token, and converts each once. When it is full it is cleared: equal values then get new tokens."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._used_bytes = 0
        self._values: dict[bytes, Held] = {}
        self._last = 0

    def read_document(self, text: bytes) -> Document:
        """The document of a mapping in canonical JSON."""
        values = {key: self._hold(bytes(raw)) for key, raw in _split(text).items()}
        # Equal documents have the same keys and tokens; most are not compared as a whole, so the text is not stored.
        return Document(tuple(sorted((key, held.token) for key, held in values.items())), values)

    def _hold(self, text: bytes) -> Held:
        held = self._values.get(text)
        if held is None:
            if self._used_bytes + len(text) > self._limit_bytes:
                self._values.clear()
                self._used_bytes = 0
            self._used_bytes += len(text)
            self._last += 1
            held = self._values[text] = Held(self._last, freeze(msgspec.json.decode(text)))
        return held


class NotedMapping(Mapping[str, Any]):
    """A document as an expression sees it: every read is noted with the token of what was read."""

    def __init__(self, name: str, document: Document, note: Note) -> None:
        self._name = name
        self._document = document
        self._note = note

    def __getitem__(self, key: Any) -> Any:
        held = self._document.find(key)
        self._note(self._name, key, ABSENT if held is None else held.token)
        if held is None:
            raise KeyError(key)
        return held.value

    def whole(self) -> FrozenMapping:
        self._note(self._name, WHOLE, self._document.token(WHOLE))
        return self._document.whole()

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole())

    def __len__(self) -> int:
        return len(self.whole())

    def __eq__(self, other: object) -> bool:
        return self.whole() == (other.whole() if isinstance(other, NotedMapping) else other)

    def __hash__(self) -> int:
        return hash(self.whole())

    def __repr__(self) -> str:
        return "the data of a node"


def is_same(one: Any, other: Any) -> bool:
    """Whether two frozen values are equal as JSON: true is not 1, and 1 is not 1.0."""
    if one is other:
        return True
    if isinstance(one, Mapping):
        return (
            isinstance(other, Mapping)
            and one.keys() == other.keys()
            and all(is_same(one[key], other[key]) for key in one)
        )
    if isinstance(one, Sequence) and not isinstance(one, str):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(is_same, one, other))
    return type(one) is type(other) and bool(one == other)
