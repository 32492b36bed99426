"""Values that are not known at compile time, and the operations on them.

A hole stands for an identity fact of the node: a string that the server fills in when it serves the catalog, so that similar nodes
share one catalog. A future is a value that another node or task will provide; a Deferred is a call that the agent makes: both become
known on the node, just before the resource that needs them. Interpolation makes an `UnknownText` of them. A hole is always a string,
so it is true, can be interpolated and passes as a String although its value is unknown.
"""

from collections.abc import Callable, Sequence
from typing import Any

from precast.lang.values import base as values
from precast.lang.values.base import Hash, Object, Sensitive, Unknown


class Hole(Unknown):
    """An identity fact that is filled in later; `root` is facts or trusted."""

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
    """The value that a promise with this key will provide; with `many`, the values of all promisers.

    `at_least` or `at_least_percent` say how many of those are enough, `timeout_s` how long the resource waits in a job.
    """

    __slots__ = ("at_least", "at_least_percent", "key", "many", "timeout_s")

    def __init__(
        self,
        key: str,
        many: bool = False,
        *,
        at_least: int | None = None,
        at_least_percent: int | None = None,
        timeout_s: int | None = None,
    ) -> None:
        self.key = key
        self.many = many
        self.at_least = at_least
        self.at_least_percent = at_least_percent
        self.timeout_s = timeout_s

    @property
    def _fields(self) -> tuple[Any, ...]:
        return (self.key, self.many, self.at_least, self.at_least_percent, self.timeout_s)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Future) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __str__(self) -> str:
        return f"<{'futures' if self.many else 'future'} {self.key}>"

    def rich_name(self) -> str:
        return "Precast::Futures" if self.many else "Precast::Future"

    def rich_value(self) -> Any:
        """The key, or with options a hash with the names of the fields of `catalog.futures.Need`."""
        options = [(name, getattr(self, name)) for name in OPTIONS if getattr(self, name) is not None]
        return Hash.of((("key", self.key), *options)) if options else self.key


# The options of a future, as they are called in a catalog.
OPTIONS = ("at_least", "at_least_percent", "timeout_s")


class UnknownText(Unknown):
    """Text with unknown parts: always a string."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownText) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __str__(self) -> str:
        return "".join(map(values.to_string, self.parts))

    def rich_name(self) -> str:
        return "Precast::Text"

    def rich_value(self) -> Any:
        return self.parts


class DeferredCall(Unknown):
    """A call of a function that the agent will make; its arguments may be unknown too."""

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


STRINGS = (Hole, UnknownText)  # unknown values that are certainly strings


def join(parts: Sequence[Any]) -> Any:
    """The text of these parts: a String if all are known, else an UnknownText with adjacent strings merged."""
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
    return UnknownText(tuple(piece for piece in merged if piece != ""))


def text_pieces(value: Any) -> list[Any]:
    """A value's interpolated form in pieces: strings, and the unknown values between them."""
    if isinstance(value, UnknownText):
        return list(value.parts)
    if isinstance(value, Unknown) or is_deferred(value):
        return [value]
    if isinstance(value, tuple) and has_unknown_text(value):
        return _listed("[", value, "]")
    if isinstance(value, Hash) and has_unknown_text(value):
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


def has_unknown(value: Any) -> bool:
    """Whether a value is, or contains, an unknown one."""
    if type(value) in _PLAIN:
        return False
    if isinstance(value, tuple):
        return any(map(has_unknown, value))
    if isinstance(value, Hash):
        return any(map(has_unknown, value.values())) or any(map(has_unknown, value))
    if isinstance(value, Sensitive):
        return has_unknown(value.unwrap())
    return isinstance(value, Unknown)


def is_late(value: Any) -> bool:
    """Whether a value is, or contains, one that only the node will know: a future or a deferred call."""
    if isinstance(value, Future | DeferredCall):
        return True
    if isinstance(value, UnknownText):
        return any(is_late(part) or is_deferred(part) for part in value.parts)
    if isinstance(value, tuple):
        return any(map(is_late, value))
    if isinstance(value, Hash):
        return any(map(is_late, value.values())) or any(map(is_late, value))
    return isinstance(value, Sensitive) and is_late(value.unwrap())


def has_unknown_text(value: Any) -> bool:
    """As has_unknown, for interpolation: there a Deferred is unknown too, while elsewhere it is an ordinary value."""
    if type(value) in _PLAIN:
        return False
    if isinstance(value, tuple):
        return any(map(has_unknown_text, value))
    if isinstance(value, Hash):
        return any(map(has_unknown_text, value.values())) or any(map(has_unknown_text, value))
    return isinstance(value, Unknown) or is_deferred(value)


def is_deferred(value: Any) -> bool:
    """Whether a value is a call that code deferred with `Deferred(…)`."""
    return isinstance(value, Object) and value.rich_name() == "Deferred"


def replace(value: Any, known: Callable[[Unknown], Any]) -> Any:
    """Replace each unknown value, at any depth, by the result of `known`; a text whose parts are all known becomes a String."""
    if type(value) in _PLAIN or not has_unknown(value):
        return value
    if isinstance(value, tuple):
        return tuple(replace(item, known) for item in value)
    if isinstance(value, Hash):
        return Hash.of((replace(key, known), replace(item, known)) for key, item in value.items())
    if isinstance(value, Sensitive):
        return Sensitive(replace(value.unwrap(), known))
    if isinstance(value, UnknownText):
        return join([replace(part, known) for part in value.parts])
    if isinstance(value, DeferredCall):
        return DeferredCall(value.name, tuple(replace(item, known) for item in value.arguments))
    assert isinstance(value, Unknown)
    return known(value)
