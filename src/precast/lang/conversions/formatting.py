"""Formats every kind of value as text, for `String.new(value, format)`."""

import base64
import math
from collections.abc import Callable
from typing import Final

from precast.lang.conversions.collections import elements
from precast.lang.conversions.formats import (
    DEFAULTS,
    IN_CONTAINERS,
    Format,
    Formats,
    format_for,
    given_formats,
    merge_formats,
    parse_format,
)
from precast.lang.conversions.layout import Indent, hash_text, list_text
from precast.lang.datatypes.base import Type
from precast.lang.datatypes.collections import ARRAY, HASH
from precast.lang.datatypes.inference import infer
from precast.lang.issues import types as issues
from precast.lang.values import base as values
from precast.lang.values.base import DEFAULT, Binary, Hash, Object, Regexp, Rich, Value, float_text, literal, quoted
from precast.lang.values.times import Timespan, Timestamp
from precast.lang.values.uris import URI
from precast.lang.values.versions import SemVerRange


def format_value(value: Value, formats: Value = DEFAULT) -> str:
    """Format a value as text: by one format for its own kind, or by formats for types. Raises LANG-27x."""
    if formats is DEFAULT:
        return _text(value, DEFAULTS, Indent())
    if isinstance(formats, str):
        kind = ARRAY if isinstance(value, tuple) else HASH if isinstance(value, Hash) else infer(value)
        given: Formats = {kind: parse_format(formats)}
    elif isinstance(formats, Hash):
        given = given_formats(formats)
    else:
        raise issues.BAD_FORMAT_MAP.error(got=values.kind_name(formats), wanted="a format or a Hash of formats by type")
    return _text(value, merge_formats(DEFAULTS, given), Indent())


def _text(value: Value, formats: Formats, indent: Indent) -> str:
    form = format_for(infer(value), formats)
    if isinstance(value, values.Iterator):
        value, form = elements(value), format_for(ARRAY, formats)
    if isinstance(value, tuple):
        _expect(form, "asp", "Array")
        return list_text(value, form, indent, lambda item, deeper: _inside(item, form, formats, deeper))
    if isinstance(value, Hash):
        _expect(form, "hasp", "Hash")
        if form.letter == "a":
            return _text(tuple(value.items()), formats, indent)
        return hash_text(value, form, indent, lambda item, deeper: _inside(item, form, formats, deeper))
    for kind, write in _KINDS:
        if isinstance(value, kind):
            return write(value, form)
    return form.padded(values.to_string(value))


def _inside(item: Value, form: Format, formats: Formats, indent: Indent) -> str:
    """An element of a container: nested containers use the formats of the whole, other values those of the container."""
    is_container = isinstance(item, tuple | Hash | Object)
    return _text(item, formats if is_container else form.inner or IN_CONTAINERS, indent)


def _expect(form: Format, letters: str, kind: str) -> None:
    if form.letter not in letters:
        raise issues.WRONG_FORMAT.error(letter=form.letter, kind=kind, letters=letters)


def _quoted_if(form: Format, text: str) -> str:
    return f'"{text}"' if form.is_alternative else text


def _number(value: Value, form: Format) -> str:
    from precast.lang.ruby.stdlib.sprintf import sprintf

    kind = "Float" if isinstance(value, float) else "Integer"
    _expect(form, "dxXobBeEfgGaAsp" if kind == "Float" else "dxXobBeEfgGaAspc", kind)
    if form.letter in "sp":
        text = float_text(value) if isinstance(value, float) else str(value)
        return form.padded(_quoted_if(form, text) if form.letter == "s" else text)
    if form.letter == "c":
        if not 0 <= value <= 0x10FFFF:
            raise issues.NO_CHARACTER.error(code=value)
        return form.padded(_quoted_if(form, chr(value)))
    form.check_plain()
    if form.letter in "dxXobB" and not math.isfinite(value):
        raise issues.NOT_CONVERTIBLE.error(what=float_text(value), kind="Integer")
    flags = "".join(char for char in form.flags if char in "+ #0-")
    width = "" if form.width is None else str(form.width)
    precision = "" if form.precision is None else f".{form.precision}"
    number = int(value) if form.letter in "dxXobB" else float(value)
    return sprintf(f"%{flags}{width}{precision}{form.letter}", (number,))


def _boolean(value: bool, form: Format) -> str:
    _expect(form, "tTyYdxXobBeEfgGaAsp", "Boolean")
    if form.letter in "tT":
        text = ("true" if value else "false") if form.letter == "t" else ("True" if value else "False")
        return form.fitted(text[0] if form.is_alternative else text)
    if form.letter in "yY":
        text = ("yes" if value else "no") if form.letter == "y" else ("Yes" if value else "No")
        return form.fitted(text[0] if form.is_alternative else text)
    if form.letter in "sp":
        return form.fitted(_quoted_if(form, "true" if value else "false"))
    return _number(int(value), form)


_UNDEF_WORDS: Final = {
    "n": ("nil", "null"), "u": ("undef", "undefined"), "v": ("n/a", "n/a"), "V": ("N/A", "N/A"),
    "s": ("", '""'), "p": ("undef", '"undef"'),
}  # fmt: skip


def _undef(value: None, form: Format) -> str:
    _expect(form, "nudxXobBeEfgGaAvVsp", "Undef")
    return form.fitted(_UNDEF_WORDS.get(form.letter, ("NaN", "NaN"))[form.is_alternative])


def _string(value: str, form: Format) -> str:
    _expect(form, "cCudspt", "String")
    text = _STRING_FORMS[form.letter](value, form)
    return form.padded(quoted(text) if form.is_alternative and form.letter in "cCudt" else text)


_STRING_FORMS: Final[dict[str, Callable[[str, Format], str]]] = {
    "s": lambda text, form: text,
    "p": lambda text, form: _double_quoted(text) if form.is_alternative else quoted(text),
    "c": lambda text, form: text.capitalize(),
    "C": lambda text, form: "::".join(part.capitalize() for part in text.split("::")),
    "u": lambda text, form: text.upper(),
    "d": lambda text, form: text.lower(),
    "t": lambda text, form: text.strip(),
}


def _double_quoted(text: str) -> str:
    return quoted(f"{text}\n").removesuffix('\\n"') + '"'


def _default(value: Value, form: Format) -> str:
    _expect(form, "dDsp", "Default")
    return form.fitted(_quoted_if(form, "Default" if form.letter == "D" else "default"))


def _regexp(value: Regexp, form: Format) -> str:
    _expect(form, "sp", "Regexp")
    if form.letter == "p":
        return form.padded(str(value))
    text = value.plain_text()
    return form.padded(quoted(text) if form.is_alternative else text)


def _type(value: Type, form: Format) -> str:
    _expect(form, "sp", "Type")
    return form.padded(_quoted_if(form, str(value)) if form.letter == "s" else str(value))


def _binary(value: Binary, form: Format) -> str:
    _expect(form, "bButTsp", "Binary")
    return form.padded(_BINARY_FORMS[form.letter](value))


def _utf8(value: Binary) -> str:
    try:
        return value.data.decode()
    except UnicodeDecodeError:
        raise issues.NOT_UTF8.error() from None


def _mime(value: Binary) -> str:
    text = str(value)
    return "".join(f"{text[start : start + 60]}\n" for start in range(0, len(text), 60))


_BINARY_FORMS: Final[dict[str, Callable[[Binary], str]]] = {
    "s": _utf8,
    "p": lambda value: f'Binary("{value}")',
    "b": _mime,
    "B": str,
    "u": lambda value: base64.urlsafe_b64encode(value.data).decode(),
    "t": lambda value: "Binary",
    "T": lambda value: "BINARY",
}


def _object(value: Object, form: Format) -> str:
    return str(value)


def _rich(value: Rich, form: Format) -> str:
    _expect(form, "sp", value.rich_name())
    if form.letter == "s":
        return form.padded(_quoted_if(form, str(value)))
    if isinstance(value, Timestamp | Timespan | URI):
        return f"{value.rich_name()}({quoted(str(value))})"
    if isinstance(value, SemVerRange):
        return form.padded(value.normalised())
    return form.padded(literal(value))


_KINDS: Final[tuple[tuple[type, Callable[[Value, Format], str]], ...]] = (
    (str, _string),
    (bool, _boolean),
    (int, _number),
    (float, _number),
    (type(None), _undef),
    (values.Default, _default),
    (Regexp, _regexp),
    (Binary, _binary),
    (Type, _type),
    (Object, _object),
    (Rich, _rich),
)
