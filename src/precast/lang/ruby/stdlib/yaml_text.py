"""Writes YAML as Ruby's Psych does: which strings it puts in quotes, which in blocks, and how it lays them out.

The emitter is PyYAML's, which is a port of libyaml's. Psych decides on the style that it asks for; where a style is not possible,
libyaml and PyYAML fall back to different ones, so this module makes that choice.
"""

from typing import Any, Final

import yaml  # type: ignore[import-untyped] # PyYAML has no types

from precast.lang.hiera.data.scalars import Refused, scalar
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.values.base import DEFAULT, Hash, Regexp, float_text
from precast.lang.values.regexps import compile_regexp

_INNER_LINE_END: Final = compile_regexp(r"\n(?!\Z)")
_ODD_START: Final = compile_regexp(r'^[^[:word:]][^"]*$')
_ODD_FLOAT: Final = compile_regexp(r"\A0[0-7]*(?:[89]|\.[0-9])")
_WIDTH: Final = 80
_ESCAPES: Final = {
    "\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e", '"': '"', "\\": "\\",
    "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P",
}  # fmt: skip


class _Emitter(yaml.emitter.Emitter):  # type: ignore[misc] # untyped
    """Falls back as libyaml does where a style is not possible: from plain to single quotes, from blocks to double quotes."""

    analysis: Any
    event: Any

    def choose_scalar_style(self) -> str:
        if self.analysis is None:
            self.analysis = self.analyze_scalar(self.event.value)
        style = self.event.style or ""
        analysis = self.analysis
        if self.simple_key_context and analysis.multiline:
            style = '"'
        if style == "":
            allowed = analysis.allow_flow_plain if self.flow_level else analysis.allow_block_plain
            if not allowed or (not self.event.value and (self.flow_level or self.simple_key_context)):
                style = "'"
            if self.event.tag is None and not self.event.implicit[0]:
                style = "'"
        if style == "'" and not analysis.allow_single_quoted:
            style = '"'
        if style in ("|", ">") and (not analysis.allow_block or self.flow_level or self.simple_key_context):
            style = '"'
        return style

    def check_simple_key(self) -> bool:
        """Return whether a key fits on one line; unlike PyYAML, libyaml accepts the empty text."""
        if isinstance(self.event, yaml.ScalarEvent) and self.event.value == "":
            return True
        return bool(super().check_simple_key())

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """Write a text in double quotes, with line breaks only at spaces."""
        self.write_indicator('"', True)
        was_space = False
        for at, char in enumerate(text):
            if char != " ":
                self._write(_escape(char))
            elif split and not was_space and self.column > self.best_width and 0 < at < len(text) - 1:
                self.write_indent()
                self._write("\\" if text[at + 1] == " " else "")
            else:
                self._write(" ")
            was_space = char == " "
        self.write_indicator('"', False)

    def _write(self, text: str) -> None:
        self.column += len(text)
        self.stream.write(text)

    def expect_document_end(self) -> None:
        self.open_ended = False  # a plain scalar at the end needs no document end marker
        super().expect_document_end()


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return f"\\{_ESCAPES[char]}"
    if " " <= char <= "~" or "\xa0" <= char <= "\ud7ff" or ("\ue000" <= char <= "\ufffd" and char != "\ufeff"):
        return char
    code = ord(char)
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


class _Text:
    """The stream that the emitter writes to."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def write(self, text: str) -> None:
        self.parts.append(text)


def to_yaml(value: Any, indentation: int | None = None, line_width: int | None = None) -> str:
    """Return the YAML of a value as one document that starts with three dashes."""
    out = _Text()
    width = _WIDTH if not line_width else line_width if line_width > 0 else 1 << 30
    emitter = _Emitter(out, indent=indentation, width=width, allow_unicode=True)
    emitter.emit(yaml.StreamStartEvent())
    emitter.emit(yaml.DocumentStartEvent(explicit=True))
    for event in _events(value, line_width):
        emitter.emit(event)
    emitter.emit(yaml.DocumentEndEvent(explicit=False))
    emitter.emit(yaml.StreamEndEvent())
    return "".join(out.parts)


def _events(value: Any, width: int | None) -> Any:
    if isinstance(value, tuple):
        yield yaml.SequenceStartEvent(None, None, True, flow_style=False)
        for item in value:
            yield from _events(item, width)
        yield yaml.SequenceEndEvent()
    elif isinstance(value, Hash):
        yield yaml.MappingStartEvent(None, None, True, flow_style=False)
        for key, item in value.items():
            yield from _events(key, width)
            yield from _events(item, width)
        yield yaml.MappingEndEvent()
    else:
        yield _scalar_event(value, width)


def _scalar_event(value: Any, width: int | None) -> Any:
    if isinstance(value, str):
        style, tag = _style(value, width)
        return yaml.ScalarEvent(None, tag, (tag is None, tag is None), value, style=style)
    if isinstance(value, Regexp):
        return yaml.ScalarEvent(None, "!ruby/regexp", (False, False), f"/{value.pattern}/")
    return yaml.ScalarEvent(None, None, (True, False), _plain(value))


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return {"NaN": ".nan", "Infinity": ".inf", "-Infinity": "-.inf"}.get(float_text(value), float_text(value))
    return ":default" if value is DEFAULT else ruby_text(value)


def _style(text: str, width: int | None) -> tuple[str, str | None]:
    """Return the style that Psych asks for, and a tag or None."""
    if _INNER_LINE_END.search(text):
        return "|", None
    if text == "<<":
        return "'", "tag:yaml.org,2002:str"
    if text in ("y", "n"):
        return '"', None
    if width is not None and width > 0 and len(text) > width:
        return ">", None
    if _ODD_START.search(text):
        return '"', None
    if _reads_as_other(text) or _ODD_FLOAT.search(text):
        return "'", None
    return "", None


def _reads_as_other(text: str) -> bool:
    """Return whether a reader would take the plain text for another type than a string."""
    try:
        return not isinstance(scalar(text), str)
    except Refused:
        return True
