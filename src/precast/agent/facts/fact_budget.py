"""Ensures that facts are plain JSON data of bounded size.

Facts from people and plug-ins are checked value by value, up to a depth and a count, because aliases in a small YAML file can expand to
more values than fit into memory. A fact that does not pass is left out as a whole, with a warning that names it and the reason.
"""

import math
from typing import Any

from precast.agent import issues
from precast.agent.facts.machine import Facts
from precast.base import canonical
from precast.base.errors import PrecastError

MAX_DEPTH = 32
MAX_VALUES = 20_000
MAX_BYTES = 1_000_000


class _PlainCopy:
    """Copies a fact as plain data and counts its values. Raises InputError FACT-030 to FACT-032 for values that are not plain data."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.count = 0

    def of(self, value: Any, depth: int = 0) -> Any:
        self.count += 1
        if self.count > MAX_VALUES:
            raise issues.TOO_MANY.error(name=self._name, count=self.count, limit=MAX_VALUES)
        if value is None or isinstance(value, (bool, int)):
            return self._number(value)
        if isinstance(value, str):
            return _text(value)
        if isinstance(value, float):
            return self._finite(value)
        if depth >= MAX_DEPTH:
            raise issues.TOO_DEEP.error(name=self._name, limit=MAX_DEPTH)
        if isinstance(value, dict):
            return {self._key(key): self.of(item, depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.of(item, depth + 1) for item in value]
        raise issues.NO_VALUE.error(name=self._name, reason=f"it holds a {type(value).__name__}")

    def _number(self, value: Any) -> Any:
        if value is not None and not -(2**63) <= value < 2**64:
            raise issues.NO_VALUE.error(name=self._name, reason="it holds a number of more than 64 bits")
        return value

    def _finite(self, value: float) -> float:
        if not math.isfinite(value):
            raise issues.NO_VALUE.error(name=self._name, reason=f"it holds {value}")
        return value

    def _key(self, key: Any) -> str:
        """Convert a key to text: in YAML keys can be numbers and booleans, in JSON they cannot."""
        if isinstance(key, bool):
            return "true" if key else "false"
        if not isinstance(key, (str, int, float)):
            raise issues.NO_VALUE.error(name=self._name, reason=f"it has a key that is a {type(key).__name__}")
        return _text(str(key))


def _text(text: str) -> str:
    """Make a text encodable as UTF-8: surrogates become U+FFFD, or the characters whose bytes they stand for."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return (
            text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if _is_bytes(text) else _scrubbed(text)
        )
    return text


def _is_bytes(text: str) -> bool:
    """Whether all surrogates in a text stand for bytes, as in file names."""
    return all("\udc80" <= char <= "\udcff" for char in text if "\ud800" <= char <= "\udfff")


def _scrubbed(text: str) -> str:
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)


class FactBudget:
    """Limits the size of all facts together; facts that are admitted earlier take precedence."""

    def __init__(self, max_values: int = MAX_VALUES, max_bytes: int = MAX_BYTES) -> None:
        self._values_left = self._max_values = max_values
        self._bytes_left = self._max_bytes = max_bytes

    def admit(self, facts: Facts) -> tuple[Facts, list[PrecastError]]:
        """Return the facts that fit, as plain data, and a warning for each that does not."""
        admitted: Facts = {}
        warnings = []
        for name, value in facts.items():
            try:
                admitted[name] = self._admit(name, value)
            except PrecastError as error:
                warnings.append(error)
        return admitted, warnings

    def _admit(self, name: str, value: Any) -> Any:
        copy = _PlainCopy(name)
        plain = copy.of(value)
        size = len(canonical.encode({name: plain}))
        if copy.count > self._values_left:
            raise issues.TOO_MANY.error(name=name, count=copy.count, limit=self._max_values)
        if size > self._bytes_left:
            raise issues.TOO_BIG.error(name=name, size_bytes=size, limit_bytes=self._max_bytes)
        self._values_left -= copy.count
        self._bytes_left -= size
        return plain
