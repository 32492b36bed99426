"""What a value in a configuration may be, and how what people write becomes it.

A shape both checks and cleans. What is wrong is left out and found, with its place and what to write instead, so that one wrong value
costs itself alone and a module's function never meets a value of another kind than it declared. People write `"yes"` for true and
`1000` for a name: what has one meaning only is taken. An empty value counts as not given.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Path = tuple[str | int, ...]

_TRUE = ("true", "yes", "on", "1", "y")
_FALSE = ("false", "no", "off", "0", "n")
_MAX_SHOWN = 40


class Finding(NamedTuple):
    """Something wrong at a place of the configuration. A key nobody knows is a warning: it may be meant for somebody else."""

    path: Path
    text: str
    hint: str = ""
    is_warning: bool = False

    @property
    def place(self) -> str:
        return place(self.path)

    def __str__(self) -> str:
        start = f"{self.place}: " if self.path else ""
        return f"{start}{self.text}{f' ({self.hint})' if self.hint else ''}"


class _Wrong:
    """What a shape gives instead of a value that cannot be."""


WRONG = _Wrong()


def place(path: Path) -> str:
    """A path as people write it: `users[2].sudo`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


class Shape:
    """A kind of value. `name` is how messages call it."""

    name = "anything"
    is_secret = False

    def clean(self, value: Any, path: Path, found: list[Finding]) -> Any:
        """The value as modules use it; WRONG if it cannot be, and then something was added to `found`."""
        return value

    def takes(self, value: Any) -> bool:
        """Whether this is the kind of value that could be meant: one that is written in the same way."""
        return not isinstance(value, dict | list)

    def wrong(self, value: Any, path: Path, found: list[Finding], hint: str = "") -> _Wrong:
        shown = "what is given" if self.is_secret else kind_of(value)
        found.append(Finding(path, f"must be {self.name}, not {shown}", hint))
        return WRONG


def kind_of(value: Any) -> str:
    """What somebody wrote, in words; the value itself only if it is short."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = str(value)
    return f"{text!r}" if isinstance(value, str) and len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN]


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint with the known word that was perhaps meant."""
    close = difflib.get_close_matches(word, list(known), 1, 0.7)
    return f"did you mean {close[0]}?" if close else ""


class Text(Shape):
    """Text; a number is taken as it would be written."""

    name = "text"

    def __init__(
        self, choices: Sequence[str] = (), is_secret: bool = False, pattern: str = "", called: str = ""
    ) -> None:
        self.choices = tuple(choices)
        self.is_secret = is_secret
        self._pattern = re.compile(pattern) if pattern else None
        if called:
            self.name = called
        if choices:
            self.name = f"one of {', '.join(choices)}"

    def clean(self, value: Any, path: Path, found: list[Finding]) -> Any:
        if isinstance(value, bool):
            text = str(value).lower()
            if text not in self.choices:
                return self.wrong(value, path, found, "put it in quotes if these words are meant")
        elif isinstance(value, bytes):
            text = value.decode(errors="replace")
        elif isinstance(value, str | int | float):
            text = str(value)
        else:
            return self.wrong(value, path, found)
        if self.choices and text not in self.choices:
            return self.wrong(value, path, found, nearest(text, self.choices))
        if self._pattern is not None and not self._pattern.fullmatch(text):
            return self.wrong(value, path, found)
        return text


class Binary(Shape):
    """Text or bytes (`!!binary`), as they are."""

    name = "text"

    def clean(self, value: Any, path: Path, found: list[Finding]) -> Any:
        if isinstance(value, bool):
            return self.wrong(value, path, found, "put it in quotes if these words are meant")
        if isinstance(value, int | float):
            return str(value)
        return value if isinstance(value, str | bytes) else self.wrong(value, path, found)


class Number(Shape):
    """A whole number, perhaps written as text."""

    name = "a whole number"

    def __init__(self, least: int | None = None, most: int | None = None) -> None:
        self._least, self._most = least, most
        if least is not None and most is not None:
            self.name = f"a whole number from {least} to {most}"
        elif least is not None:
            self.name = f"a whole number, {least} or more"

    def clean(self, value: Any, path: Path, found: list[Finding]) -> Any:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | str)
            or not str(value).strip().lstrip("-").isdecimal()
        ):
            return self.wrong(value, path, found)
        number = int(value)
        is_within = (self._least is None or number >= self._least) and (self._most is None or number <= self._most)
        return number if is_within else self.wrong(value, path, found)


class Unused(Shape):
    """A key that is known and does nothing here: it is told, with the reason."""

    name = "not run"

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def takes(self, value: Any) -> bool:
        return True

    def clean(self, value: Any, path: Path, found: list[Finding]) -> Any:
        found.append(Finding(path, "is not run", self._reason, True))
        return WRONG


class Mode(Shape):
    """Permissions: octal digits in quotes, or the number that YAML makes of unquoted ones with a leading zero."""

    name = "permissions such as '0644'"

    def clean(self, value: Any, path: Path, found: list[Finding]) -> Any:
        if isinstance(value, str):
            try:
                number = int(value.strip().lower().removeprefix("0o"), 8)
            except ValueError:
                return self.wrong(value, path, found)
        elif isinstance(value, int) and not isinstance(value, bool):
            number = value
            if 0o777 < value <= 777 and set(str(value)) <= set("01234567"):
                # 644 without a leading zero is a decimal number, and surely not meant as one.
                number = int(str(value), 8)
                found.append(Finding(path, f"is taken as '0{value}'", f"write '0{value}', in quotes", True))
        else:
            return self.wrong(value, path, found)
        return number if 0 <= number <= 0o7777 else self.wrong(value, path, found)


class Flag(Shape):
    """True or false, also in words."""

    name = "true or false"

    def clean(self, value: Any, path: Path, found: list[Finding]) -> Any:
        word = str(value).strip().lower() if isinstance(value, str | int) else None
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
        return self.wrong(value, path, found)


class Items(Shape):
    """A list; with `takes_one` a single element stands for a list of it."""

    def __init__(self, of: Shape, takes_one: bool = False) -> None:
        self.of = of
        self.takes_one = takes_one
        self.name = f"a list, each element {of.name}" if isinstance(of, Either) else f"a list of {of.name}"
        self.is_secret = of.is_secret

    def takes(self, value: Any) -> bool:
        return isinstance(value, list)

    def clean(self, value: Any, path: Path, found: list[Finding]) -> Any:
        if not isinstance(value, list):
            if not self.takes_one:
                return self.wrong(value, path, found, "begin each element with a dash")
            one = self.of.clean(value, path, found)
            return WRONG if one is WRONG else [one]
        cleaned = (self.of.clean(each, (*path, at), found) for at, each in enumerate(value) if each is not None)
        return [each for each in cleaned if each is not WRONG]


class Table(Shape):
    """A mapping with keys of the user's own choice, and values of one shape."""

    def __init__(self, of: Shape, keeps_empty: bool = False, keys: Shape | None = None) -> None:
        self.of = of
        self._keeps_empty = keeps_empty  # a key alone says something
        self._keys = keys
        self.name = f"a mapping to {of.name}"
        self.is_secret = of.is_secret

    def takes(self, value: Any) -> bool:
        return isinstance(value, dict)

    def clean(self, value: Any, path: Path, found: list[Finding]) -> Any:
        if not isinstance(value, dict):
            return self.wrong(value, path, found)
        kept: dict[str, Any] = {}
        for key, each in value.items():
            if self._keys is not None and self._keys.clean(key, (*path, key), found) is WRONG:
                continue
            if each is None:
                if self._keeps_empty:
                    kept[str(key)] = None
                continue
            cleaned = self.of.clean(each, (*path, key), found)
            if cleaned is not WRONG:
                kept[str(key)] = cleaned
        return kept


class Fields(Shape):
    """A mapping with known keys. One that nobody knows is left out with a warning; without a required one it is all left out."""

    name = "a mapping"

    def __init__(self, fields: Mapping[str, Shape], required: Sequence[str] = (), others: Shape | None = None) -> None:
        self.fields = fields
        self.required = tuple(required)
        self.others = others

    def takes(self, value: Any) -> bool:
        return isinstance(value, dict)

    def clean(self, value: Any, path: Path, found: list[Finding]) -> Any:
        if not isinstance(value, dict):
            return self.wrong(value, path, found)
        kept: dict[str, Any] = {}
        for given, each in value.items():
            key = self._spelled(given)
            shape = self.fields.get(key, self.others)
            if shape is None:
                found.append(Finding((*path, key), "is no key that is known here", self._hint(str(key)), True))
            elif each is not None:
                cleaned = shape.clean(each, (*path, key), found)
                if cleaned is not WRONG:
                    kept[str(key)] = cleaned
        missing = [key for key in self.required if key not in kept]
        if missing:
            if all(value.get(key) is None for key in missing):
                found.append(Finding(path, f"lacks {' and '.join(missing)}", f"add {missing[0]}:"))
            return WRONG
        return kept

    def _spelled(self, key: Any) -> Any:
        """The key as it is declared; older documents have dashes in it."""
        other = key.replace("-", "_") if isinstance(key, str) else key
        return other if key not in self.fields and other in self.fields else key

    def _hint(self, key: str) -> str:
        return nearest(key, self.fields) or f"known are {', '.join(sorted(self.fields))}"


class Either(Shape):
    """One of several shapes. If none fits as it stands, the first that is for this kind of value says what is wrong."""

    def __init__(self, *shapes: Shape) -> None:
        self.shapes = shapes
        self.name = " or ".join(dict.fromkeys(shape.name for shape in shapes))
        self.is_secret = any(shape.is_secret for shape in shapes)

    def takes(self, value: Any) -> bool:
        return any(shape.takes(value) for shape in self.shapes)

    def clean(self, value: Any, path: Path, found: list[Finding]) -> Any:
        for shape in self.shapes:
            own: list[Finding] = []
            kept = shape.clean(value, path, own)
            if kept is not WRONG and not own:
                return kept
        likely = next((shape for shape in self.shapes if shape.takes(value)), None)
        is_plain = not isinstance(value, dict | list)
        if likely is None or (is_plain and sum(shape.takes(value) for shape in self.shapes) > 1):
            return self.wrong(value, path, found)
        return likely.clean(value, path, found)
