"""The value of a plain YAML scalar by the rules of Ruby's Psych, with which Puppet reads data.

They are neither YAML 1.1 nor 1.2: `yes` is true and `y` a string, `1_000` and `1,000` are numbers, `010` is eight and `0o10` a
string, `:a` is a symbol, and a date is refused unless it is quoted.
"""

import re
from typing import Any, Final

from precast.lang.values.base import DEFAULT

_ALPHA = r"[^\W\d_]"
_TEXT: Final = re.compile(rf"^[^\d.:-]?(?:{_ALPHA}|[_ \t\r\n\f\v!@#$%^&*(){{}}<>|/\\~;=])+", re.MULTILINE)
_TIME: Final = re.compile(
    r"^-?\d{4}-\d{1,2}-\d{1,2}(?:[Tt]|\s+)\d{1,2}:\d\d:\d\d(?:\.\d*)?(?:\s*(?:Z|[-+]\d{1,2}:?(?:\d\d)?))?$", re.ASCII
)
_DATE: Final = re.compile(r"^\d{4}-(?:1[012]|0\d|\d)-(?:[12]\d|3[01]|0\d|\d)$", re.ASCII)
_SIXTIES: Final = re.compile(r"^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9]){1,2}$")
_FLOAT_SIXTIES: Final = re.compile(r"^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9]){1,2}\.[0-9_]*$")
_FLOAT: Final = re.compile(r"^[-+]?(?:[0-9][0-9_,]*)?\.[0-9]*(?:[eE][-+][0-9]+)?$")
_INTEGER: Final = re.compile(
    r"^(?:(?P<two>[-+]?0b[01_,]+)|(?P<eight>[-+]?0[0-7_,]+)|(?P<ten>[-+]?(?:0|[1-9](?:[0-9]|,[0-9]|_[0-9])*))"
    r"|(?P<sixteen>[-+]?0x[0-9a-fA-F_,]+))$"
)
_BASES: Final = {"two": 2, "eight": 8, "ten": 10, "sixteen": 16}
_TRUE: Final = frozenset(("yes", "true", "on"))
_FALSE: Final = frozenset(("no", "false", "off"))
_SPECIAL_FLOATS: Final = {".inf": "inf", "+.inf": "inf", "-.inf": "-inf", ".nan": "nan"}
# Parsing longer numbers would take quadratic time.
MAX_DIGITS: Final = 1000


class Symbol(str):
    """A Ruby symbol. As a key it becomes a string; as a value it is not valid data."""

    __slots__ = ()

    def rich_name(self) -> str:
        return "Symbol"

    def rich_value(self) -> str:
        return str(self)


class Refused(Exception):
    """A scalar that must not be loaded; the message describes it."""


def scalar(text: str) -> Any:
    """The value of a plain scalar. Raises Refused."""
    if not text:
        return None
    if _TEXT.match(text) or "\n" in text:
        return text if len(text) > 5 else _word(text)
    if _TIME.match(text):
        raise Refused(f"a time ({text})")
    if _DATE.match(text):
        raise Refused(f"a date ({text})")
    if text.lower() in _SPECIAL_FLOATS:
        return float(_SPECIAL_FLOATS[text.lower()])
    if text[0] == ":" and len(text) > 1:
        return DEFAULT if text == ":default" else Symbol(_symbol(text))
    return _number(text)


def _word(text: str) -> Any:
    lower = text.lower()
    if text == "~" or lower == "null":
        return None
    if lower in _TRUE:
        return True
    return False if lower in _FALSE else text


def _symbol(text: str) -> str:
    quoted = re.match(r"^:([\"'])(.*)\1", text, re.DOTALL)
    return quoted[2].removeprefix(":") if quoted else text[1:]


def _number(text: str) -> Any:
    if text[0] not in "+-.0123456789":
        return text
    if len(text) > MAX_DIGITS:
        raise Refused(f"a number of more than {MAX_DIGITS} digits")
    if _SIXTIES.match(text):
        return sum(int(part.replace("_", "") or 0) * 60 ** abs(index - 2) for index, part in enumerate(text.split(":")))
    if _FLOAT_SIXTIES.match(text):
        return sum(
            float(part.replace("_", "") or 0) * 60 ** abs(index - 2) for index, part in enumerate(text.split(":"))
        )
    if _FLOAT.match(text):
        return _float(text)
    match = _INTEGER.match(text)
    if match is None:
        return text
    kind = match.lastgroup or "ten"
    return _convert(int, re.sub("[,_]", "", text), _BASES[kind])


def _float(text: str) -> Any:
    if text in (".", "+.", "-."):
        return text
    return _convert(float, re.sub(r"\.(?=[Ee]|$)", "", re.sub("[,_]", "", text)))


def _convert(kind: Any, text: str, *base: int) -> Any:
    try:
        return kind(text, *base)
    except ValueError:
        raise Refused(f"a number that cannot be read ({text})") from None
