"""Functions that change case, white space or line ends of a string, or of every string in an array.

Numbers are returned unchanged. White space is ASCII's, and NUL, as in Ruby.
"""

from collections.abc import Callable
from typing import Any

from precast.lang.datatypes import Type
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.functions.sequences import sequence
from precast.lang.issues import functions as issues
from precast.lang.values.base import Hash, is_number, kind_name

_SPACE = " \t\n\v\f\r"


def _declare(name: str, change: Callable[[str], str], documentation: str) -> None:
    """Declare a function on a string, or on each of a flat sequence of strings and numbers."""
    function = Function(name, documentation, unknowns=Unknowns.AGENT)

    def change_value(value: Any) -> Any:
        return change(value) if isinstance(value, str) else value

    function.dispatch("Numeric arg")(change_value)
    function.dispatch("String arg")(change)

    def changed_each(value: Any) -> tuple[Any, ...]:
        if isinstance(value, Type):  # iterable, but its elements are not strings
            raise issues.NOT_A_STRING.error(name=name, kind=str(value))
        return tuple(map(change_value, sequence(value)))

    function.dispatch("Iterable[Variant[String, Numeric]] arg")(changed_each)


def _declare_deep(name: str, change: Callable[[str], str], documentation: str) -> None:
    """Declare a function on a string, or on every string in arrays and hashes, also in keys."""
    function = Function(name, documentation, unknowns=Unknowns.AGENT)

    def change_value(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, tuple):
            return tuple(map(change_value, value))
        if isinstance(value, Hash):
            return Hash.of((change_value(key), change_value(item)) for key, item in value.items())
        if not is_number(value):
            raise issues.NOT_TEXT_INSIDE.error(name=name, kind=kind_name(value))
        return value

    function.dispatch("Numeric arg")(change_value)
    function.dispatch("String arg")(change)
    function.dispatch("Array arg")(change_value)
    function.dispatch("Hash arg")(change_value)


def camelcase(text: str) -> str:
    return "".join(map(capitalize, text.split("_")))


def capitalize(text: str) -> str:
    """Return the text with its first letter in title case (ß becomes Ss) and the others in lower case."""
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


_declare("camelcase", camelcase, "Converts words with underscores between them to one word of capitalised parts.")
_declare("capitalize", capitalize, "Converts the first character to upper case and the others to lower case.")
_declare("chomp", chomp, "Removes the line end, if there is one.")
_declare("chop", chop, "Removes the last character; CR LF counts as one character.")
_declare("lstrip", lstrip, "Removes white space at the beginning.")
_declare("rstrip", rstrip, "Removes white space at the end.")
_declare("strip", lambda text: rstrip(lstrip(text)), "Removes white space at both ends.")
_declare_deep("downcase", str.lower, "Converts to lower case; in arrays and hashes every string, also keys.")
_declare_deep("upcase", str.upper, "Converts to upper case; in arrays and hashes every string, also keys.")
