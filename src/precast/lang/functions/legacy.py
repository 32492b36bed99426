"""Values as Puppet hands them to its older functions: sprintf, md5, fail, tag, shellquote and their kin.

These take Ruby's own values, so a version, a time or an expression comes as its text, undef as the empty string, and a reference to a
resource as that resource. An Iterator is refused.
"""

from typing import Any, Final

from precast.lang.datatypes import ClassType, ResourceType
from precast.lang.functions import issues
from precast.lang.ruby.text import ruby_text
from precast.lang.values.core import Binary, Hash, Iterator, Regexp, kind_name
from precast.lang.values.moments import Timespan, Timestamp
from precast.lang.values.versions import SemVer, SemVerRange

_TEXTS: Final = (Regexp, Timestamp, Timespan, SemVer, SemVerRange, Binary)


def legacy(value: Any) -> Any:
    """An argument as an older function sees it. Raises LANG-461 for an Iterator."""
    return "" if value is None else _inner(value)


def _inner(value: Any) -> Any:
    if isinstance(value, _TEXTS):
        return str(value)
    if isinstance(value, tuple):
        return tuple(map(_inner, value))
    if isinstance(value, Hash):
        return Hash.of((_inner(key), _inner(item)) for key, item in value.items())
    if isinstance(value, Iterator):
        raise issues.NO_ITERATOR.error()
    return value


def legacy_text(value: Any) -> str:
    """Ruby's to_s of such an argument."""
    if isinstance(value, ResourceType) and value.type_name is not None and value.title is not None:
        return f"{_capitalised(value.type_name)}[{value.title}]"
    if isinstance(value, ClassType) and value.class_name is not None:
        return f"Class[{_capitalised(value.class_name)}]"
    return ruby_text(legacy(value))


def legacy_string(function: str, value: Any) -> str:
    """The argument of a function that takes nothing but a string. Raises LANG-411."""
    text = legacy(value)
    if not isinstance(text, str):
        raise issues.NOT_A_STRING.error(name=function, kind=kind_name(value))
    return text


def _capitalised(name: str) -> str:
    return "::".join(map(str.capitalize, name.split("::")))
