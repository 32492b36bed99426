"""The values of a YAML document, each with its place, so that every message about a plan can name file, line and column.

A node is shared by all aliases that name it. Its place is where it is written, because that is where it can be corrected.
"""

from typing import Any, NamedTuple

import msgspec

from precast.plans.model import Position

_SHOWN_CHARS = 60


class Entry(NamedTuple):
    """An entry of a mapping: the place of its key, and its value."""

    at: Position
    value: "Node"


class Node(NamedTuple):
    """A value: a list has `items`, a mapping has `entries`, anything else is a scalar with its text as it is written."""

    at: Position
    value: Any = None
    text: str = ""
    items: "tuple[Node, ...] | None" = None
    entries: "dict[str, Entry] | None" = None
    weight: int = 1  # the values that it stands for, also through aliases
    depth: int = 0  # the levels below it

    @property
    def is_null(self) -> bool:
        return self.items is None and self.entries is None and self.value is None

    @property
    def is_text(self) -> bool:
        """Whether it can be read as a text: a scalar that has a value. A number is its text as it is written."""
        return self.items is None and self.entries is None and self.value is not None

    def as_data(self) -> Any:
        """The value without places. Its size and its depth are those that the composer allows."""
        if self.items is not None:
            return [item.as_data() for item in self.items]
        if self.entries is not None:
            return {key: entry.value.as_data() for key, entry in self.entries.items()}
        return self.value

    def describe(self) -> str:
        """The value in a message; a long one is shortened."""
        if self.items is not None:
            return "a list" if self.items else "an empty list"
        if self.entries is not None:
            return "a mapping" if self.entries else "an empty mapping"
        if self.value is None:
            return "nothing"
        return repr(shorten(self.text)) if isinstance(self.value, str) else shorten(self.text)


def shorten(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"


def make_node(data: Any, at: Position) -> Node:
    """The node of plain data, such as the result of an expression; all of it has one place."""
    if isinstance(data, list | tuple):
        return Node(at, items=tuple(make_node(item, at) for item in data))
    if isinstance(data, dict):
        return Node(at, entries={str(key): Entry(at, make_node(value, at)) for key, value in data.items()})
    text = data if isinstance(data, str) else msgspec.json.encode(data).decode()
    return Node(at, data, text)
