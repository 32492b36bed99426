"""scanf: reads values from a string by a format, as Ruby's scanf does."""

import re
from collections.abc import Callable
from typing import Any, Final

from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function
from precast.lang.ruby.stdlib.digits import integer

SCANF = Function(
    "scanf", "Returns the values that a format matches at the beginning of a string; a block gets them as an array."
)

_DIRECTIVE: Final = re.compile(r"%(\*?)(\d*)([diuoxXeEfFgGaAsc%]|\[\^?\]?[^\]]*\])|(\s+)|(.)", re.DOTALL)
_NUMBER: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "d": (r"[+-]?\d+", integer),
    "u": (r"[+-]?\d+", integer),
    "i": (r"[+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)", lambda text: _any_base(text)),
    "o": (r"[+-]?[0-7]+", lambda text: integer(text, 8)),
    "x": (r"[+-]?(?:0[xX])?[0-9a-fA-F]+", lambda text: integer(text, 16)),
    "f": (r"[+-]?(?:\d+(?![\d.])|(?=\.?\d)\d*\.\d*(?:[eE][+-]?\d+)?)", float),
}


def _any_base(text: str) -> int:
    digits = text.lstrip("+-")
    base = 16 if digits[:2].lower() == "0x" else 8 if digits.startswith("0") else 10
    return integer(text, base)


def scan(text: str, template: str) -> tuple[Any, ...]:
    """Return the values before the first part of the format that does not match."""
    values: list[Any] = []
    at = 0
    for skipped, width, kind, space, literal in _DIRECTIVE.findall(template):
        if space:
            at = _skip_space(text, at)
            continue
        if literal or kind == "%":
            if text[at : at + 1] != (literal or "%"):
                break
            at += 1
            continue
        value, at = _read(text, at, kind, integer(width) if width else None)
        if value is None:
            break
        if not skipped:
            values.append(value)
    return tuple(values)


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _read(text: str, at: int, kind: str, width: int | None) -> tuple[Any, int]:
    """Return a value and the position after it; the value is None if the text does not match."""
    if kind == "c":
        part = text[at : at + (width or 1)]
        return (part or None), at + len(part)
    if kind[0] != "[":
        at = _skip_space(text, at)
    convert: Callable[[str], Any] = str
    if kind == "s":
        pattern = r"\S+"
    elif kind[0] == "[":
        pattern = kind + "+"
    else:
        lower = kind.lower()
        pattern, convert = _NUMBER["f" if lower in "efga" else lower]
    end = len(text) if width is None else min(len(text), at + width)
    match = re.compile(pattern).match(text, at, end)
    return (convert(match[0]), match.end()) if match else (None, at)


@SCANF.dispatch("String data, String format, Callable &block?", pure=False)
def _scanf(call: Call, text: str, template: str) -> Any:
    values = scan(text, template)
    return values if call.block is None else call.block.call(values)
