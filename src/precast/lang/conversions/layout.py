"""Writes arrays and hashes as text, on one line or, in the alternative form, indented over several lines."""

from collections.abc import Callable
from typing import NamedTuple

from precast.lang.conversions.formats import Format
from precast.lang.values.base import Hash, Value

WriteItem = Callable[[Value, "Indent"], str]


class Indent(NamedTuple):
    """The nesting depth of a container, and whether it begins on a new line."""

    level: int = 0
    is_first: bool = True
    is_indenting: bool = False

    @property
    def padding(self) -> str:
        return "  " * self.level

    @property
    def opening(self) -> str:
        """The text before the container's opening delimiter."""
        return f"\n{self.padding}" if self.is_indenting and self.level > 0 and not self.is_first else ""

    def within(self, form: Format) -> "Indent":
        return self._replace(is_indenting=form.is_alternative or self.is_indenting)


def _is_container(value: Value) -> bool:
    return isinstance(value, tuple | Hash)


def list_text(items: tuple[Value, ...], form: Format, outer: Indent, write: WriteItem) -> str:
    """An Array. With a width, the alternative form puts each element on its own line if a sequence of them is wider."""
    indent = outer.within(form)
    left, right = form.delimiters("[")
    deeper = Indent(indent.level + 1, is_first=False, is_indenting=form.is_alternative)
    texts = [write(item, deeper) for item in items]
    alternative = form.is_alternative
    breaks_each = alternative and form.width is not None and _widest(items, texts) > form.width
    separator = ", " if form.separator is None else form.separator
    out = [indent.opening, left]
    for index, (item, text) in enumerate(zip(items, texts, strict=True)):
        nested = _is_container(item)
        if index == 0:
            out.append(" " if breaks_each and not nested else "")
        elif (breaks_each and not nested) or (alternative and _is_container(items[index - 1]) and not nested):
            out.append(f"{separator.rstrip()}\n{deeper.padding}")
        else:
            out.append(separator.rstrip() if (alternative and nested) or text.startswith("\n") else separator)
        out.append(text)
    return "".join([*out, right])


def _widest(items: tuple[Value, ...], texts: list[str]) -> int:
    """The width of the longest sequence of elements that are not containers."""
    widest = width = 0
    for item, text in zip(items, texts, strict=True):
        width = 0 if _is_container(item) else width + len(text)
        widest = max(widest, width)
    return widest


def hash_text(entries: Hash, form: Format, outer: Indent, write: WriteItem) -> str:
    """A Hash; the alternative form writes one entry per line."""
    indent = outer.within(form)
    left, right = form.delimiters("{")
    deeper = Indent(indent.level + 1, is_first=True, is_indenting=indent.is_indenting)
    separator = ", " if form.separator is None else form.separator
    arrow = " => " if form.separator2 is None else form.separator2
    texts = [f"{write(key, deeper)}{arrow}{write(item, deeper)}" for key, item in entries.items()]
    if not form.is_alternative:
        return f"{indent.opening}{left}{separator.join(texts)}{right}"
    line = f"\n{deeper.padding}"
    return f"{indent.opening}{left}{line if texts else chr(10)}{f'{separator.rstrip()}{line}'.join(texts)}\n{indent.padding}{right}"
