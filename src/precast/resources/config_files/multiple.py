"""Files with sections in which a setting may occur several times, changed as openstacklib's provider changes them.

A setting that changes loses the lines of its former values, and its new values go before its last line, after a comment that contains it,
or to the end of its section. Headers are written without blanks around them. Where a section occurs several times, the last one counts;
the others keep their lines, which openstacklib replaces by those of the last.
"""

import re
from collections.abc import Iterator
from typing import Final

_HEADER: Final = re.compile(r"\s*\[(.*)\]\s*")
_SETTING: Final = re.compile(r"(\s*)([^#;\s]|[^#;\s].*?[^\s=])(\s*=[ \t]*)(.*)")
_COMMENT: Final = re.compile(r"\s*[#;]+\s*(.*?[^\s=])\s*=[ \t]*.*")


class MultipleDocument:
    """The sections of a file. Changes are made in place; `text` is the whole file after them."""

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        self._sections: list[tuple[str, list[str]]] = [("", [])]
        for line in lines[:-1] if lines[-1] == "" else lines:
            header = _HEADER.fullmatch(line)
            if header is not None:
                self._sections.append((header[1], []))
            else:
                self._sections[-1][1].append(line)

    @property
    def text(self) -> str:
        lines = []
        for name, content in self._sections:
            lines += [f"[{name}]", *content] if name else content
        return "".join(f"{line}\n" for line in lines)

    def values(self, section: str, setting: str) -> list[str] | None:
        """The values of a setting in the order of their lines; None if the setting does not exist."""
        lines = self._lines(section)
        return [match[4] for _, match in _settings(lines, setting)] or None if lines is not None else None

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield the section and the name of every setting."""
        for section in dict.fromkeys(name for name, _ in self._sections):
            matches = (_SETTING.fullmatch(line) for line in self._lines(section) or ())
            yield from ((section, name) for name in dict.fromkeys(match[2] for match in matches if match is not None))

    def set(self, section: str, setting: str, values: list[str]) -> None:
        """Set all values of a setting; add it, and its section, if it does not exist."""
        lines = self._lines(section)
        if lines is None:
            lines = []
            self._sections.append((section, lines))
        former = self.values(section, setting) or []
        indents = [len(match[1]) for match in map(_SETTING.fullmatch, lines) if match is not None]
        useless = [value for value in former if value not in values]
        for at, match in reversed([*_settings(lines, setting)]):
            if match[4] in useless:
                del lines[at]
        at = _position(lines, setting)
        indent = " " * min(indents, default=0)
        lines[at:at] = [f"{indent}{setting}={value}" for value in values if value not in former]

    def remove(self, section: str, setting: str) -> None:
        lines = self._lines(section) or []
        for at, _ in reversed([*_settings(lines, setting)]):
            del lines[at]

    def _lines(self, section: str) -> list[str] | None:
        return next((lines for name, lines in reversed(self._sections) if name == section), None)


def _settings(lines: list[str], setting: str) -> Iterator[tuple[int, "re.Match[str]"]]:
    for at, line in enumerate(lines):
        match = _SETTING.fullmatch(line)
        if match is not None and match[2] == setting:
            yield at, match


def _position(lines: list[str], setting: str) -> int:
    """The index of the first new line of a setting."""
    existing = [at for at, _ in _settings(lines, setting)]
    if existing:
        return existing[-1]
    for at, line in enumerate(lines):
        comment = _COMMENT.fullmatch(line)
        if comment is not None and comment[1] == setting:
            return at + 1
    return len(lines)
