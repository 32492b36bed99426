"""Ruby's `to_s`, `inspect` and `join` of Puppet values, which Puppet's older functions use.

A manifest sees them when it passes a structure to `join`, `sprintf` or `fail`; Puppet's own interpolation writes values differently.
"""

from collections.abc import Sequence
from typing import Any

from precast.lang.values.base import DEFAULT, Hash, Regexp, Sensitive, float_text, to_string

_ESCAPES = {
    '"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r",
    "\x1b": "\\e", "\x07": "\\a", "\x08": "\\b", "\x0b": "\\v", "\x0c": "\\f",
}  # fmt: skip


def ruby_text(value: Any) -> str:
    """Return Ruby's `to_s` of a value."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, Regexp):
        return f"(?-mix:{value.pattern})"
    if isinstance(value, tuple | Hash):
        return ruby_inspect(value)
    return to_string(value)


def ruby_inspect(value: Any) -> str:
    """Return Ruby's `inspect` of a value."""
    if isinstance(value, str):
        return _quote(value)
    if value is None:
        return "nil"
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(ruby_inspect, value))}]"
    if isinstance(value, Hash):
        return "{" + ", ".join(f"{ruby_inspect(k)}=>{ruby_inspect(v)}" for k, v in value.items()) + "}"
    if value is DEFAULT:
        return ":default"
    if isinstance(value, Sensitive):
        return "#<Sensitive [value redacted]>"
    return to_string(value)


def _quote(text: str) -> str:
    out = []
    for index, char in enumerate(text):
        if char == "#" and text[index + 1 : index + 2] in ("{", "$", "@"):
            out.append("\\#")
        elif char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif char.isprintable():
            out.append(char)
        else:
            out.append(
                f"\\x{ord(char):02X}"
                if ord(char) < 0x80
                else f"\\u{ord(char):04X}"
                if ord(char) < 0x10000
                else f"\\u{{{ord(char):X}}}"
            )
    return f'"{"".join(out)}"'


def ruby_join(values: Sequence[Any], separator: str) -> str:
    """Return Ruby's `join`: inner arrays are joined with the same separator."""
    return separator.join(
        ruby_join(value, separator) if isinstance(value, tuple) else ruby_text(value) for value in values
    )
