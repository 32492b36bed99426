"""Values that are not known while compiling, and what may be done with them.

A hole stands for an identity fact of the node: a string that is filled in when the catalog is served, so that like nodes share one
catalog. A future is what another node or task will say, a Deferred a call that the agent makes: both become known on the
node, just before the one resource that needs them. Interpolated, they make a `Joined` text. A hole is always a string, which is
why it can be true, be interpolated and pass as a String without anybody knowing it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from precast.lang.values import core as values
from precast.lang.values.core import Hash, Object, Sensitive, Unknown


class Hole(Unknown):
    """An identity fact left open: `root` is facts or trusted."""

    __slots__ = ("path", "root")

    def __init__(self, root: str, path: tuple[str | int, ...]) -> None:
        self.root = root
        self.path = path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hole) and (self.root, self.path) == (other.root, other.path)

    def __hash__(self) -> int:
        return hash((self.root, self.path))

    def __str__(self) -> str:
        return f"<{'.'.join(map(str, (self.root, *self.path)))}>"

    def rich_name(self) -> str:
        return "Precast::Hole"

    def rich_value(self) -> Any:
        return (self.root, *self.path)


class Future(Unknown):
    """What a promise of this key will hold: one value, or with `many` those of every promiser."""

    __slots__ = ("key", "many")

    def __init__(self, key: str, many: bool = False) -> None:
        self.key = key
        self.many = many

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Future) and (self.key, self.many) == (other.key, other.many)

    def __hash__(self) -> int:
        return hash((self.key, self.many))

    def __str__(self) -> str:
        return f"<{'futures' if self.many else 'future'} {self.key}>"

    def rich_name(self) -> str:
        return "Precast::Futures" if self.many else "Precast::Future"

    def rich_value(self) -> Any:
        return self.key


class Joined(Unknown):
    """Text with parts that are not known: always a string."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Joined) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __str__(self) -> str:
        return "".join(map(values.to_string, self.parts))

    def rich_name(self) -> str:
        return "Precast::Text"

    def rich_value(self) -> Any:
        return self.parts


class DeferredCall(Unknown):
    """A call of a function that the agent has, with arguments that may themselves be unknown."""

    __slots__ = ("arguments", "name")

    def __init__(self, name: str, arguments: tuple[Any, ...]) -> None:
        self.name = name
        self.arguments = arguments

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeferredCall) and (self.name, self.arguments) == (other.name, other.arguments)

    def __hash__(self) -> int:
        return hash((self.name, self.arguments))

    def __str__(self) -> str:
        return f"<{self.name}({', '.join(map(values.to_string, self.arguments))})>"

    def rich_name(self) -> str:
        return "Deferred"

    def rich_value(self) -> Any:
        return Hash.of((("name", self.name), ("arguments", self.arguments)))


STRINGS = (Hole, Joined)  # unknown, but strings for certain


def join(parts: Sequence[Any]) -> Any:
    """The text of these parts: a String if all are known, else one text with neighbours merged."""
    merged: list[Any] = []
    for part in parts:
        for piece in text_pieces(part):
            if isinstance(piece, str) and merged and isinstance(merged[-1], str):
                merged[-1] += piece
            else:
                merged.append(piece)
    if not merged:
        return ""
    if len(merged) == 1 and isinstance(merged[0], str):
        return merged[0]
    return Joined(tuple(piece for piece in merged if piece != ""))


def text_pieces(value: Any) -> list[Any]:
    """A value's interpolated form in pieces: strings, and the unknown values between them."""
    if isinstance(value, Joined):
        return list(value.parts)
    if isinstance(value, Unknown) or is_deferred(value):
        return [value]
    if isinstance(value, tuple) and stays_open(value):
        return _listed("[", value, "]")
    if isinstance(value, Hash) and stays_open(value):
        return _listed("{", [(*text_pieces(k), " => ", *text_pieces(v)) for k, v in value.items()], "}")
    return [values.to_string(value)]


def _listed(before: str, items: Sequence[Any], after: str) -> list[Any]:
    pieces: list[Any] = [before]
    for index, item in enumerate(items):
        if index:
            pieces.append(", ")
        pieces += item if before == "{" else text_pieces(item)
    return [*pieces, after]


_PLAIN = frozenset((str, int, bool, float, type(None)))


def holds_unknown(value: Any) -> bool:
    """Whether a value is, or has inside, one that is not known yet."""
    if type(value) in _PLAIN:
        return False
    if isinstance(value, tuple):
        return any(map(holds_unknown, value))
    if isinstance(value, Hash):
        return any(map(holds_unknown, value.values())) or any(map(holds_unknown, value))
    if isinstance(value, Sensitive):
        return holds_unknown(value.unwrap())
    return isinstance(value, Unknown)


def is_late(value: Any) -> bool:
    """Whether a value is, or has inside, one that only the node will know: a future or a deferred call."""
    if isinstance(value, Future | DeferredCall):
        return True
    if isinstance(value, Joined):
        return any(is_late(part) or is_deferred(part) for part in value.parts)
    if isinstance(value, tuple):
        return any(map(is_late, value))
    if isinstance(value, Hash):
        return any(map(is_late, value.values())) or any(map(is_late, value))
    return isinstance(value, Sensitive) and is_late(value.unwrap())


def stays_open(value: Any) -> bool:
    """As holds_unknown, for text: there a Deferred waits too, which everywhere else is a value that can be looked at."""
    if type(value) in _PLAIN:
        return False
    if isinstance(value, tuple):
        return any(map(stays_open, value))
    if isinstance(value, Hash):
        return any(map(stays_open, value.values())) or any(map(stays_open, value))
    return isinstance(value, Unknown) or is_deferred(value)


def is_deferred(value: Any) -> bool:
    """Whether a value is a call that code put off with `Deferred(…)`."""
    return isinstance(value, Object) and value.rich_name() == "Deferred"


def replace(value: Any, known: Callable[[Unknown], Any]) -> Any:
    """The value with each unknown one, at any depth, replaced by what `known` gives; texts close up where all became known."""
    if type(value) in _PLAIN or not holds_unknown(value):
        return value
    if isinstance(value, tuple):
        return tuple(replace(item, known) for item in value)
    if isinstance(value, Hash):
        return Hash.of((replace(key, known), replace(item, known)) for key, item in value.items())
    if isinstance(value, Sensitive):
        return Sensitive(replace(value.unwrap(), known))
    if isinstance(value, Joined):
        return join([replace(part, known) for part in value.parts])
    if isinstance(value, DeferredCall):
        return DeferredCall(value.name, tuple(replace(item, known) for item in value.arguments))
    assert isinstance(value, Unknown)
    return known(value)
