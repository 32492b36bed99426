"""Reads the value of a setting: typed as TOML has it, or a text from the environment or a flag. Both give the same value."""

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


class Unfit(Exception):
    """The value is not what its setting takes; the text says what that is."""


def reader(kind: Any) -> Callable[[object], Any]:
    """What reads a value of a type: text, number, truth, path, duration, or several of one of these."""
    if typing.get_origin(kind) is tuple:
        one = reader(typing.get_args(kind)[0])
        return lambda value: tuple(one(part) for part in _parts(value))
    return {str: text, int: number, bool: truth, Path: path, timedelta: duration}[kind]


def text(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise Unfit("a text")
    return value


def path(value: object) -> Path:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value or not value.isprintable():
        raise Unfit("a path")
    return Path(value)


def number(value: object) -> int:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value):
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unfit("a whole number")
    return value


def truth(value: object) -> bool:
    if isinstance(value, str) and value.lower() in _WORDS:
        return _WORDS[value.lower()]
    if not isinstance(value, bool):
        raise Unfit("true or false")
    return value


def duration(value: object) -> timedelta:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise Unfit("a duration such as 90s, 30m, 12h or 7d")
    return timedelta(seconds=int(found[1]) * _UNITS_S[found[2]])


def size(value: object) -> int:
    """A number of bytes."""
    if isinstance(value, str) and (found := _SIZE.fullmatch(value)):
        return int(found[1]) * _UNITS_BYTES[found[2].upper()]
    try:
        return number(value)
    except Unfit:
        raise Unfit("a size such as 500KB, 64MiB or a number of bytes") from None


def within(read: Callable[[object], Any], least: Any, most: Any) -> Callable[[object], Any]:
    """The same, held to a range."""

    def check(value: object) -> Any:
        found = read(value)
        if not least <= found <= most:
            raise Unfit(f"from {show(least)} to {show(most)}")
        return found

    return check


def one_of(*words: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        if value not in words:
            raise Unfit(f"one of {', '.join(words)}")
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
    """A list, or in the environment one text with commas."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list):
        raise Unfit("a list")
    return value
