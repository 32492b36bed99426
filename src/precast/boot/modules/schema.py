"""Schemas of configuration values: each checks a value and converts it to the form that modules use.

An invalid value is dropped and reported as a finding, with its location and a hint. So an invalid value affects nothing else, and a
module's function never receives a value that does not fit the schema it declared. People write `"yes"` for true and `1000` for a name:
a value with only one possible meaning is accepted. An empty value counts as absent.
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
    """A problem at a location in the configuration. An unknown key is only a warning: it may be meant for another program."""

    path: Path
    text: str
    hint: str = ""
    is_warning: bool = False

    @property
    def location(self) -> str:
        return format_path(self.path)

    def __str__(self) -> str:
        start = f"{self.location}: " if self.path else ""
        return f"{start}{self.text}{f' ({self.hint})' if self.hint else ''}"


class _Invalid:
    """The type of INVALID, which a schema returns instead of an invalid value."""


INVALID = _Invalid()


def format_path(path: Path) -> str:
    """Return a path as people write it: `users[2].sudo`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


class ValueSchema:
    """The schema of a value; this base class accepts any value. Messages use `name`."""

    name = "anything"
    is_secret = False
    null: Any = None  # what a top-level key without a value means; None: the key counts as absent

    def clean(self, value: Any, path: Path, findings: list[Finding]) -> Any:
        """Return the value as modules use it, or INVALID after adding to `findings`."""
        return value

    def accepts(self, value: Any) -> bool:
        """Return whether the value is written in the form that this schema expects, so that its messages fit."""
        return not isinstance(value, dict | list)

    def reject(self, value: Any, path: Path, findings: list[Finding], hint: str = "") -> _Invalid:
        shown = "this value" if self.is_secret else describe_value(value)
        findings.append(Finding(path, f"must be {self.name}, not {shown}", hint))
        return INVALID


def describe_value(value: Any) -> str:
    """Describe a value for a message; short values are quoted."""
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


def suggest_nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint with the known word that is most similar; empty if none is similar enough."""
    close = difflib.get_close_matches(word, list(known), 1, 0.7)
    return f"did you mean {close[0]}?" if close else ""


class Text(ValueSchema):
    """Text; a number is converted to text."""

    name = "text"

    def __init__(
        self, choices: Sequence[str] = (), is_secret: bool = False, pattern: str = "", description: str = ""
    ) -> None:
        self.choices = tuple(choices)
        self.is_secret = is_secret
        self._pattern = re.compile(pattern) if pattern else None
        if description:
            self.name = description
        if choices:
            self.name = f"one of {', '.join(choices)}"

    def clean(self, value: Any, path: Path, findings: list[Finding]) -> Any:
        if isinstance(value, bool):
            text = str(value).lower()
            if text not in self.choices:
                return self.reject(value, path, findings, "put it in quotes if you mean this text")
        elif isinstance(value, bytes):
            text = value.decode(errors="replace")
        elif isinstance(value, str | int | float):
            text = str(value)
        else:
            return self.reject(value, path, findings)
        if self.choices and text not in self.choices:
            return self.reject(value, path, findings, suggest_nearest(text, self.choices))
        if self._pattern is not None and not self._pattern.fullmatch(text):
            return self.reject(value, path, findings)
        return text


class Binary(ValueSchema):
    """Text or bytes (`!!binary`), unchanged."""

    name = "text"

    def clean(self, value: Any, path: Path, findings: list[Finding]) -> Any:
        if isinstance(value, bool):
            return self.reject(value, path, findings, "put it in quotes if you mean this text")
        if isinstance(value, int | float):
            return str(value)
        return value if isinstance(value, str | bytes) else self.reject(value, path, findings)


class Number(ValueSchema):
    """An integer, possibly written as text."""

    name = "a whole number"

    def __init__(self, least: int | None = None, most: int | None = None) -> None:
        self._least, self._most = least, most
        if least is not None and most is not None:
            self.name = f"a whole number from {least} to {most}"
        elif least is not None:
            self.name = f"a whole number, {least} or more"

    def clean(self, value: Any, path: Path, findings: list[Finding]) -> Any:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | str)
            or not str(value).strip().lstrip("-").isdecimal()
        ):
            return self.reject(value, path, findings)
        number = int(value)
        is_within = (self._least is None or number >= self._least) and (self._most is None or number <= self._most)
        return number if is_within else self.reject(value, path, findings)


class Unsupported(ValueSchema):
    """A key of cloud-init that Precast does not support: a finding reports it with the reason."""

    name = "not supported"

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def accepts(self, value: Any) -> bool:
        return True

    def clean(self, value: Any, path: Path, findings: list[Finding]) -> Any:
        findings.append(Finding(path, "is not supported", self._reason, True))
        return INVALID


class Mode(ValueSchema):
    """File permissions: octal digits in quotes, or the number that YAML reads from unquoted digits with a leading zero."""

    name = "permissions such as '0644'"

    def clean(self, value: Any, path: Path, findings: list[Finding]) -> Any:
        if isinstance(value, str):
            try:
                number = int(value.strip().lower().removeprefix("0o"), 8)
            except ValueError:
                return self.reject(value, path, findings)
        elif isinstance(value, int) and not isinstance(value, bool):
            number = value
            if 0o777 < value <= 777 and set(str(value)) <= set("01234567"):
                # YAML reads 644 without a leading zero as a decimal number, but the user means octal digits.
                number = int(str(value), 8)
                findings.append(Finding(path, f"is read as '0{value}'", f"write '0{value}', in quotes", True))
        else:
            return self.reject(value, path, findings)
        return number if 0 <= number <= 0o7777 else self.reject(value, path, findings)


class Flag(ValueSchema):
    """True or false, also as words such as `yes` and `off`."""

    name = "true or false"

    def clean(self, value: Any, path: Path, findings: list[Finding]) -> Any:
        word = str(value).strip().lower() if isinstance(value, str | int) else None
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
        return self.reject(value, path, findings)


class Items(ValueSchema):
    """A list; with `accepts_single`, a single element counts as a list of one."""

    def __init__(self, of: ValueSchema, accepts_single: bool = False) -> None:
        self.of = of
        self.accepts_single = accepts_single
        self.name = f"a list, each element {of.name}" if isinstance(of, Either) else f"a list of {of.name}"
        self.is_secret = of.is_secret

    def accepts(self, value: Any) -> bool:
        return isinstance(value, list)

    def clean(self, value: Any, path: Path, findings: list[Finding]) -> Any:
        if not isinstance(value, list):
            if not self.accepts_single:
                return self.reject(value, path, findings, "begin each element with a dash")
            element = self.of.clean(value, path, findings)
            return INVALID if element is INVALID else [element]
        cleaned = (
            self.of.clean(item, (*path, index), findings) for index, item in enumerate(value) if item is not None
        )
        return [item for item in cleaned if item is not INVALID]


class Table(ValueSchema):
    """A mapping whose keys the user chooses, with values of one schema."""

    def __init__(self, of: ValueSchema, keeps_empty: bool = False, keys: ValueSchema | None = None) -> None:
        self.of = of
        self._keeps_empty = keeps_empty  # a key without a value is meaningful
        self._keys = keys
        self.name = f"a mapping to {of.name}"
        self.is_secret = of.is_secret

    def accepts(self, value: Any) -> bool:
        return isinstance(value, dict)

    def clean(self, value: Any, path: Path, findings: list[Finding]) -> Any:
        if not isinstance(value, dict):
            return self.reject(value, path, findings)
        kept: dict[str, Any] = {}
        for key, item in value.items():
            if self._keys is not None and self._keys.clean(key, (*path, key), findings) is INVALID:
                continue
            if item is None:
                if self._keeps_empty:
                    kept[str(key)] = None
                continue
            cleaned = self.of.clean(item, (*path, key), findings)
            if cleaned is not INVALID:
                kept[str(key)] = cleaned
        return kept


class Fields(ValueSchema):
    """A mapping with known keys. An unknown key is dropped with a warning; if a required key is missing, the whole mapping is dropped."""

    name = "a mapping"

    def __init__(
        self,
        fields: Mapping[str, ValueSchema],
        required: Sequence[str] = (),
        others: ValueSchema | None = None,
        keeps_null: bool = False,
        null: Any = None,
    ) -> None:
        self.null = null
        self.fields = fields
        self.required = tuple(required)
        self.others = others
        self._keeps_null = keeps_null  # a key without a value is meaningful

    def accepts(self, value: Any) -> bool:
        return isinstance(value, dict)

    def clean(self, value: Any, path: Path, findings: list[Finding]) -> Any:
        if not isinstance(value, dict):
            return self.reject(value, path, findings)
        kept: dict[str, Any] = {}
        for spelling, item in value.items():
            key = self._normalise_key(spelling)
            schema = self.fields.get(key, self.others)
            if schema is None:
                findings.append(Finding((*path, key), "is not a known key here", self._hint(str(key)), True))
            elif item is None:
                if self._keeps_null:
                    kept[str(key)] = None
            else:
                cleaned = schema.clean(item, (*path, key), findings)
                if cleaned is not INVALID:
                    kept[str(key)] = cleaned
        missing = [key for key in self.required if key not in kept]
        if missing:
            if all(value.get(key) is None for key in missing):
                findings.append(Finding(path, f"lacks {' and '.join(missing)}", f"add {missing[0]}:"))
            return INVALID
        return kept

    def _normalise_key(self, key: Any) -> Any:
        """Return the key as the schema declares it: older documents use dashes instead of underscores."""
        underscored = key.replace("-", "_") if isinstance(key, str) else key
        return underscored if key not in self.fields and underscored in self.fields else key

    def _hint(self, key: str) -> str:
        return suggest_nearest(key, self.fields) or f"known keys are {', '.join(sorted(self.fields))}"


class Either(ValueSchema):
    """A choice between schemas. If none fits, the first schema that accepts this form of value reports the problem."""

    def __init__(self, *schemas: ValueSchema) -> None:
        self.schemas = schemas
        self.name = " or ".join(dict.fromkeys(schema.name for schema in schemas))
        self.is_secret = any(schema.is_secret for schema in schemas)

    def accepts(self, value: Any) -> bool:
        return any(schema.accepts(value) for schema in self.schemas)

    def clean(self, value: Any, path: Path, findings: list[Finding]) -> Any:
        for schema in self.schemas:
            own_findings: list[Finding] = []
            cleaned = schema.clean(value, path, own_findings)
            if cleaned is not INVALID and not own_findings:
                return cleaned
        likely = next((schema for schema in self.schemas if schema.accepts(value)), None)
        is_plain = not isinstance(value, dict | list)
        if likely is None or (is_plain and sum(schema.accepts(value) for schema in self.schemas) > 1):
            return self.reject(value, path, findings)
        return likely.clean(value, path, findings)
