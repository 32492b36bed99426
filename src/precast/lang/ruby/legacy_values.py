"""Converts arguments as Puppet does for its legacy functions: sprintf, md5, fail, tag, shellquote and others.

Legacy functions take Ruby's own values: a version, a timestamp or a regular expression becomes its text, undef the empty string, and a
reference stays a reference to the resource. An Iterator is refused.
"""

from typing import Any, Final

from precast.lang.datatypes import ClassType, ResourceType
from precast.lang.issues import functions as issues
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.values.base import Binary, Hash, Iterator, Regexp, kind_name
from precast.lang.values.times import Timespan, Timestamp
from precast.lang.values.versions import SemVer, SemVerRange

_CONVERTED_TO_TEXT: Final = (Regexp, Timestamp, Timespan, SemVer, SemVerRange, Binary)


def to_legacy(value: Any) -> Any:
    """Return an argument as a legacy function sees it. Raises LANG-461 for an Iterator."""
    return "" if value is None else _convert(value)


def _convert(value: Any) -> Any:
    if isinstance(value, _CONVERTED_TO_TEXT):
        return str(value)
    if isinstance(value, tuple):
        return tuple(map(_convert, value))
    if isinstance(value, Hash):
        return Hash.of((_convert(key), _convert(item)) for key, item in value.items())
    if isinstance(value, Iterator):
        raise issues.NO_ITERATOR.error()
    return value


def legacy_text(value: Any) -> str:
    """Return Ruby's `to_s` of a converted argument."""
    if isinstance(value, ResourceType) and value.type_name is not None and value.title is not None:
        return f"{_capitalise(value.type_name)}[{value.title}]"
    if isinstance(value, ClassType) and value.class_name is not None:
        return f"Class[{_capitalise(value.class_name)}]"
    return ruby_text(to_legacy(value))


def legacy_string(function: str, value: Any) -> str:
    """Return the argument of a function that takes only a string. Raises LANG-411."""
    text = to_legacy(value)
    if not isinstance(text, str):
        raise issues.NOT_A_STRING.error(name=function, kind=kind_name(value))
    return text


def _capitalise(name: str) -> str:
    return "::".join(map(str.capitalize, name.split("::")))
