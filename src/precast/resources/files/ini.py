"""Files with sections and settings, changed line by line: all other lines keep their bytes.

An existing setting keeps its indentation and the separator between name and value. A new setting is added after a comment that contains it
(`;name = …`), or else after the last non-blank line of its section, with the smallest indentation of that section. A blank line separates a
new section from the lines before it, and a first line of global settings from the sections after it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple


class Style(NamedTuple):
    """The syntax of a file."""

    prefix: str = "["
    suffix: str = "]"
    separator: str = " = "
    indent_char: str = " "
    indent_width: int | None = None


class Document:
    """The lines of a file. Changes are made in place; `text` is the whole file after them."""

    def __init__(self, text: str, style: Style) -> None:
        parts = text.split("\n")
        self._lines = parts[:-1] if parts[-1] == "" else parts
        self._style = style
        between = re.escape(style.separator.strip())
        between = rf"[ \t]*{between}[ \t]*" if between else r"[ \t]+"
        self._setting = re.compile(rf"(\s*)([^#;\s]|[^#;\s].*?\S)({between})(.*?)(\r?)")
        self._comment = re.compile(rf"\s*[#;]+\s*(.*?\S){between}.*")
        self._header = re.compile(rf"\s*{re.escape(style.prefix)}(.*){re.escape(style.suffix)}\s*")

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)

    def value(self, section: str, setting: str) -> str | None:
        """The last value of a setting; None if the setting does not exist."""
        values = [match[4] for _, match in self._settings(section) if match[2] == setting]
        return values[-1] if values else None

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield the section and the name of every setting."""
        found = ((name, match[2]) for name, _, _ in self._sections() for _, match in self._settings(name))
        yield from dict.fromkeys(found)

    def has_section(self, section: str) -> bool:
        return section == "" or any(name == section for name, _, _ in self._sections())

    def set(self, section: str, setting: str, value: str) -> None:
        """Set the value of a setting, also if it occurs several times; add it, and its section, if it does not exist."""
        existing = [(at, match) for at, match in self._settings(section) if match[2] == setting]
        for at, match in existing:
            self._lines[at] = f"{match[1]}{match[2]}{match[3]}{value}{match[5]}"
        if not existing:
            has_no_global_lines = bool(self._lines) and self._header.fullmatch(self._lines[0]) is not None
            at, indent = self._find_position(section, setting)
            self._lines.insert(at, f"{indent}{setting}{self._style.separator}{value}")
            if section == "" and has_no_global_lines:
                self._lines.insert(at + 1, "")

    def remove(self, section: str, setting: str) -> None:
        """Remove a setting, and its section if it is empty then."""
        for at, match in reversed([*self._settings(section)]):
            if match[2] == setting:
                del self._lines[at]
        for name, start, end in reversed([*self._sections()]):
            if name == section != "" and end == start + 1:
                del self._lines[start]

    def _sections(self) -> Iterator[tuple[str, int, int]]:
        """Each section's name and its first (the header) and last line. The lines before the first header are a section without a name."""
        name, start = "", 0
        for at, line in enumerate(self._lines):
            header = self._header.fullmatch(line)
            if header is not None:
                yield name, start, at
                name, start = header[1], at
        yield name, start, len(self._lines)

    def _settings(self, section: str) -> Iterator[tuple[int, "re.Match[str]"]]:
        for name, start, end in self._sections():
            if name == section:
                for at in range(start if name == "" else start + 1, end):
                    match = self._setting.fullmatch(self._lines[at])
                    if match is not None:
                        yield at, match

    def _find_position(self, section: str, setting: str) -> tuple[int, str]:
        """The position and indentation of a new setting; a missing section is added."""
        for name, start, end in self._sections():
            if name != section:
                continue
            indent = self._indent([len(match[1]) for _, match in self._settings(section)])
            for at in range(start, end):
                comment = self._comment.fullmatch(self._lines[at])
                if comment is not None and comment[1] == setting:
                    return at + 1, indent
            while end > start and not self._lines[end - 1].strip():
                end -= 1
            return end, indent
        if self._lines:
            self._lines.append("")
        self._lines.append(f"{self._style.prefix}{section}{self._style.suffix}")
        return len(self._lines), self._indent([])

    def _indent(self, present: list[int]) -> str:
        width = self._style.indent_width
        return self._style.indent_char * (min(present, default=0) if width is None else width)
