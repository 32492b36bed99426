"""Reads the value of a setting: a typed TOML value, or a text from the environment or a flag. Both forms give the same value."""

import re
import typing
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([0-9]{1,9})\s*([smhd])")
_UNITS_BYTES = {"B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KIB": 1024, "MIB": 1024**2, "GIB": 1024**3}
_SIZE = re.compile(r"([0-9]{1,12})\s*([KMG]I?B|B)", re.IGNORECASE)
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class InvalidValueError(Exception):
    """The value is not valid for its setting; the text says what a valid value is."""


def reader(kind: Any) -> Callable[[object], Any]:
    """The function that reads a value of a type: text, number, boolean, path, duration, or a list of one of these."""
    if typing.get_origin(kind) is tuple:
        read_item = reader(typing.get_args(kind)[0])
        return lambda value: tuple(read_item(part) for part in _parts(value))
    return {str: read_text, int: read_number, bool: read_boolean, Path: read_path, timedelta: read_duration}[kind]


def read_text(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise InvalidValueError("a text")
    return value


def read_path(value: object) -> Path:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value or not value.isprintable():
        raise InvalidValueError("a path")
    return Path(value)


def read_number(value: object) -> int:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value):
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidValueError("a whole number")
    return value


def read_boolean(value: object) -> bool:
    if isinstance(value, str) and value.lower() in _WORDS:
        return _WORDS[value.lower()]
    if not isinstance(value, bool):
        raise InvalidValueError("true or false")
    return value


def read_duration(value: object) -> timedelta:
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise InvalidValueError("a duration such as 90s, 30m, 12h or 7d")
    return timedelta(seconds=int(match[1]) * _UNITS_S[match[2]])


def read_size(value: object) -> int:
    """Read a number of bytes."""
    if isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        return int(match[1]) * _UNITS_BYTES[match[2].upper()]
    try:
        return read_number(value)
    except InvalidValueError:
        raise InvalidValueError("a size such as 500KB, 64MiB or a number of bytes") from None


def within(read: Callable[[object], Any], least: Any, most: Any) -> Callable[[object], Any]:
    """A reader that also checks the range of the value."""

    def check(value: object) -> Any:
        result = read(value)
        if not least <= result <= most:
            raise InvalidValueError(f"from {show(least)} to {show(most)}")
        return result

    return check


def one_of(*words: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        if value not in words:
            raise InvalidValueError(f"one of {', '.join(words)}")
        return str(value)

    return check


def show(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, timedelta):
        seconds = int(value.total_seconds())
        unit = next(unit for unit in ("d", "h", "m", "s") if seconds % _UNITS_S[unit] == 0 and (seconds or unit == "s"))
        return f"{seconds // _UNITS_S[unit]}{unit}"
    if type(value) is tuple:  # a named tuple has a form of its own
        return ", ".join(map(show, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _parts(value: object) -> list[object]:
    """The items of a list, or of one text with commas as the environment has it."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list):
        raise InvalidValueError("a list")
    return value
