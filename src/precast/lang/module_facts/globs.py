"""`Dir.glob` over the node's directories: `*`, `**`, `?`, `[…]` and `{…,…}`, sorted; hidden names only if the pattern asks for them."""

import re
from collections.abc import Iterator

from precast.lang.module_facts.node import LimitReached, Node

_MAX_DIRECTORIES = 10_000
_MAX_CHOICES = 1_000


def glob(node: Node, pattern: str) -> list[str]:
    """The paths that match. Raises LimitReached for a pattern that leads into very many directories."""
    search = _Search(node)
    found: dict[str, None] = {}
    for plain in expand_braces(pattern):
        parts = [part for part in plain.split("/") if part]
        found.update(dict.fromkeys(search.below("/" if plain.startswith("/") else "", parts)))
    return list(found)


def expand_braces(pattern: str) -> list[str]:
    """The patterns that the braces of a pattern stand for, in their order."""
    opening = pattern.find("{")
    if opening < 0:
        return [pattern]
    depth, starts = 0, [opening + 1]
    for at in range(opening, len(pattern)):
        char = pattern[at]
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 1:
            starts.append(at + 1)
        if depth == 0:
            ends = [*(start - 1 for start in starts[1:]), at]
            choices = [pattern[start:end] for start, end in zip(starts, ends, strict=True)]
            made = [
                text for choice in choices for text in expand_braces(pattern[:opening] + choice + pattern[at + 1 :])
            ]
            if len(made) > _MAX_CHOICES:
                raise LimitReached(f"a pattern with more than {_MAX_CHOICES} choices")
            return made
    return [pattern]


class _Search:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._count = 0

    def below(self, path: str, parts: list[str]) -> Iterator[str]:
        """The paths below a directory that match the rest of a pattern."""
        if not parts:
            yield path
            return
        part, rest = parts[0], parts[1:]
        if part == "**" and rest:
            yield from self.below(path, rest)
            for name in self._names(path):
                inner = _join(path, name)
                if name[0] != "." and self._is_directory(inner, follows=False):
                    yield from self.below(inner, parts)
        elif not set(part) & set("*?[\\"):
            inner = _join(path, part)
            if self._node.status(inner, follows=False) is not None:
                yield from self.below(inner, rest)
        else:
            matches = _matcher(part)
            for name in self._names(path):
                if matches.fullmatch(name) and (name[0] != "." or part[0] == "."):
                    inner = _join(path, name)
                    if not rest or self._is_directory(inner, follows=True):
                        yield from self.below(inner, rest)

    def _names(self, path: str) -> list[str]:
        self._count += 1
        if self._count > _MAX_DIRECTORIES:
            raise LimitReached(f"a pattern that leads into more than {_MAX_DIRECTORIES} directories")
        try:
            return self._node.names(path or ".")
        except OSError:
            return []

    def _is_directory(self, path: str, *, follows: bool) -> bool:
        status = self._node.status(path, follows=follows)
        return status is not None and status.kind == "directory"


def _join(path: str, name: str) -> str:
    return f"{path.rstrip('/')}/{name}" if path else name


def _matcher(part: str) -> re.Pattern[str]:
    """The regular expression of one part of a pattern."""
    text, at = "", 0
    while at < len(part):
        char = part[at]
        closing = part.find("]", at + 2) if char == "[" else -1
        if closing > 0:
            inner = part[at + 1 : closing].replace("\\", "\\\\").replace("[", "\\[")
            text += f"[{'^' + inner[1:] if inner[0] in '!^' else inner}]"
            at = closing
        elif char == "\\" and at + 1 < len(part):
            at += 1
            text += re.escape(part[at])
        else:
            text += {"*": ".*", "?": "."}.get(char) or re.escape(char)
        at += 1
    try:
        return re.compile(text, re.DOTALL)
    except re.error:
        return re.compile(re.escape(part))
