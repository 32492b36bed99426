"""Formats of String.new: `%<flags><width>.<precision><letter>`, with separators for containers, and the format for a value's type."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from precast.lang.datatypes.base import ANY, Type
from precast.lang.datatypes.collections import ARRAY, HASH
from precast.lang.datatypes.objects import OBJECT
from precast.lang.datatypes.rich import BINARY
from precast.lang.datatypes.scalars import FLOAT, NUMERIC
from precast.lang.issues import types as issues
from precast.lang.values.base import Hash, Value, kind_name
from precast.lang.values.strftime import MAX_WIDTH

_FORMAT: Final = re.compile(r"%([\s\[+#0{<(|-]*)([1-9][0-9]*)?(?:\.([0-9]+))?([a-zA-Z])")
_DELIMITERS: Final = {"[": ("[", "]"), "{": ("{", "}"), "(": ("(", ")"), "<": ("<", ">"), "|": ("|", "|")}


class Format(NamedTuple):
    """How to write a value of some type. A field is None if it was not given."""

    letter: str
    flags: str = ""
    width: int | None = None
    precision: int | None = None
    separator: str | None = None
    separator2: str | None = None
    inner: "Formats | None" = None
    text: str = ""

    @property
    def is_alternative(self) -> bool:
        return "#" in self.flags

    def delimiters(self, default: str) -> tuple[str, str]:
        """Opening and closing delimiter; both are empty if the flags contain a blank."""
        delimiters = next((pair for char, pair in _DELIMITERS.items() if char in self.flags), None)
        return delimiters or (("", "") if " " in self.flags else _DELIMITERS[default])

    def check_plain(self) -> None:
        """Raises LANG-276 if the format has delimiters, which are only for containers."""
        if any(char in self.flags for char in _DELIMITERS):
            raise issues.DELIMITER_WITHOUT_CONTAINER.error(format=self.text)

    def padded(self, text: str) -> str:
        """The text cut to the precision and padded to the width. Raises LANG-276 for delimiters."""
        self.check_plain()
        return self.fitted(text)

    def fitted(self, text: str) -> str:
        """As `padded`, but ignores delimiters: for undef, Boolean and default."""
        if self.precision is not None:
            text = text[: self.precision]
        if self.width is None:
            return text
        return text.ljust(self.width) if "-" in self.flags else text.rjust(self.width)

    def over(self, lower: "Format") -> "Format":
        """This format, with fields that are not given taken from a lower one."""
        return self._replace(
            separator=lower.separator if self.separator is None else self.separator,
            separator2=lower.separator2 if self.separator2 is None else self.separator2,
            inner=lower.inner if self.inner is None else merge_formats(lower.inner or {}, self.inner),
        )


Formats = Mapping[Type, Format]


def parse_format(text: str) -> Format:
    """Parse a format. Raises LANG-270."""
    match = _FORMAT.fullmatch(text)
    if match is None:
        raise issues.BAD_FORMAT_TEXT.error(format=text)
    flags = match[1]
    if len(set(flags)) != len(flags):
        raise issues.REPEATED_FLAG.error(format=text)
    if sum(char in flags for char in _DELIMITERS) > 1:
        raise issues.TWO_DELIMITERS.error(format=text)
    width, precision = (int(digits[:9]) if digits else None for digits in (match[2], match[3]))
    if max(width or 0, precision or 0) > MAX_WIDTH:
        raise issues.TOO_WIDE.error(format=text, limit=MAX_WIDTH)
    return Format(match[4], flags, width, precision, text=text)


IN_CONTAINERS: Final[Formats] = {ANY: parse_format("%p")}
DEFAULTS: Final[Formats] = {
    OBJECT: parse_format("%p"),
    FLOAT: parse_format("%f"),
    NUMERIC: parse_format("%d"),
    ARRAY: parse_format("%a")._replace(separator=", ", inner=IN_CONTAINERS),
    HASH: parse_format("%h")._replace(separator=", ", separator2=" => ", inner=IN_CONTAINERS),
    BINARY: parse_format("%B"),
    ANY: parse_format("%s"),
}


def given_formats(given: Hash) -> Formats:
    """The formats in a Hash, by type. Raises LANG-27x."""
    formats: dict[Type, Format] = {}
    for kind, value in given.items():
        if not isinstance(kind, Type):
            raise issues.BAD_FORMAT_MAP.error(got=kind_name(kind), wanted="a Type as key")
        formats[kind] = _given(value)
    return formats


def _given(value: Value) -> Format:
    if isinstance(value, str):
        return parse_format(value)
    if not isinstance(value, Hash):
        raise issues.BAD_FORMAT_MAP.error(got=kind_name(value), wanted="a format or a Hash of container formats")
    for key in value:
        if key not in ("format", "separator", "separator2", "string_formats"):
            raise issues.BAD_FORMAT_MAP.error(
                got=f"the key {key!r}", wanted="format, separator, separator2, string_formats"
            )
    inner = value.get("string_formats")
    return parse_format(_text(value, "format") or "")._replace(
        separator=_text(value, "separator"),
        separator2=_text(value, "separator2"),
        inner=given_formats(inner) if isinstance(inner, Hash) else None,
    )


def _text(value: Hash, key: str) -> str | None:
    text = value.get(key)
    if text is not None and not isinstance(text, str):
        raise issues.BAD_FORMAT_MAP.error(got=kind_name(text), wanted=f"a String as {key}")
    return text


def merge_formats(lower: Formats, higher: Formats) -> Formats:
    """Both sets of formats; a higher one replaces lower ones for the same or a more specific type."""
    result = {
        kind: form for kind, form in lower.items() if not any(other != kind and other.accepts(kind) for other in higher)
    }
    for kind, form in higher.items():
        base = result.get(kind)
        result[kind] = form.over(base) if base else form
    return result


def format_for(kind: Type, formats: Formats) -> Format:
    """The format of the most specific type that accepts the given one."""
    best: Type | None = None
    for candidate in formats:
        if candidate.accepts(kind) and (best is None or (best.accepts(candidate) and not candidate.accepts(best))):
            best = candidate
    return formats[best] if best is not None else DEFAULTS[ANY]
