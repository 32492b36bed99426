"""Functions that change the letters of a string, or of every string in an array: case, white space, line ends.

A number passes through them as it is. White space is what Ruby takes for it: ASCII's, and NUL at the end.
"""

from collections.abc import Callable
from typing import Any

from precast.lang.datatypes import Type
from precast.lang.functions import issues
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.functions.sequences import sequence
from precast.lang.values.core import Hash, is_number, kind_name

_SPACE = " \t\n\v\f\r"


def _declare(name: str, change: Callable[[str], str], documentation: str) -> None:
    """A function on a string, or on each of a flat sequence of strings and numbers."""
    function = Function(name, documentation, unknowns=Unknowns.AGENT)

    def changed(value: Any) -> Any:
        return change(value) if isinstance(value, str) else value

    function.dispatch("Numeric arg")(changed)
    function.dispatch("String arg")(change)

    def changed_each(value: Any) -> tuple[Any, ...]:
        if isinstance(value, Type):  # iterable, but it yields nothing that could be changed
            raise issues.NOT_A_STRING.error(name=name, kind=str(value))
        return tuple(map(changed, sequence(value)))

    function.dispatch("Iterable[Variant[String, Numeric]] arg")(changed_each)


def _declare_deep(name: str, change: Callable[[str], str], documentation: str) -> None:
    """A function on a string, or on every string in arrays and hashes, keys included."""
    function = Function(name, documentation, unknowns=Unknowns.AGENT)

    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        if isinstance(value, Hash):
            return Hash.of((changed(key), changed(item)) for key, item in value.items())
        if not is_number(value):
            raise issues.NOT_TEXT_INSIDE.error(name=name, kind=kind_name(value))
        return value

    function.dispatch("Numeric arg")(changed)
    function.dispatch("String arg")(change)
    function.dispatch("Array arg")(changed)
    function.dispatch("Hash arg")(changed)


def camelcase(text: str) -> str:
    return "".join(map(capitalize, text.split("_")))


def capitalize(text: str) -> str:
    """The first letter large, as titles have it (ß becomes Ss), the others small."""
    return text[:1].title() + text[1:].lower()


def chomp(text: str) -> str:
    for end in ("\r\n", "\n", "\r"):
        if text.endswith(end):
            return text[: -len(end)]
    return text


def chop(text: str) -> str:
    return text[:-2] if text.endswith("\r\n") else text[:-1]


def lstrip(text: str) -> str:
    return text.lstrip("\0" + _SPACE)


def rstrip(text: str) -> str:
    return text.rstrip("\0" + _SPACE)


_declare("camelcase", camelcase, "Words joined by underscores become one word of capitalised parts.")
_declare("capitalize", capitalize, "The first character becomes upper case, the others lower case.")
_declare("chomp", chomp, "Without the line end, if there is one.")
_declare("chop", chop, "Without the last character; CR LF counts as one.")
_declare("lstrip", lstrip, "Without white space at the beginning.")
_declare("rstrip", rstrip, "Without white space at the end.")
_declare("strip", lambda text: rstrip(lstrip(text)), "Without white space at both ends.")
_declare_deep("downcase", str.lower, "In lower case; in arrays and hashes every string, keys included.")
_declare_deep("upcase", str.upper, "In upper case; in arrays and hashes every string, keys included.")
