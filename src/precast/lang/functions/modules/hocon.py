"""Reads HOCON, a superset of JSON with comments, dotted keys, merged objects, `+=` and `${references}`.

Includes are refused, since they name files; a reference names a key of the same text, never an environment variable.
"""

import re
from typing import Any, Final, NoReturn

from precast.base.spans import Source
from precast.lang.functions.modules.declaration import argument_error
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.values.base import from_data

_TOKEN: Final = re.compile(
    r'(?P<gap>[ \t\r\f\v\u00a0\ufeff]+)|(?P<comment>(?:#|//)[^\n]*)|(?P<line>\n)|(?P<multi>"""(?:[^"]|"(?!""))*"{3,})'
    r'|(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<reference>\$\{\??[^}\n]*\})|(?P<sign>\+=|[{}\[\]:=,])'
    r"|(?P<word>(?:(?!//)[^\s\"${}\[\]:=,+#`^?!@*&\\])+)"
)
_NUMBER: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_MAX_DEPTH: Final = 100
Token = tuple[str, str]


class _Reference:
    """`${path}`, or `${?path}`, whose key may be missing."""

    def __init__(self, text: str) -> None:
        self.is_optional = text.startswith("?")
        self.path = tuple(part.strip().strip('"') for part in text.lstrip("?").split("."))


class _Concatenation:
    """Adjacent parts: texts and references that form one text, or objects or arrays that form one."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts


_MISSING: Final = object()


def read_hocon(source: Source) -> Any:
    """Return the data of a text. Raises LANG-470 for invalid HOCON."""
    reader = _Reader(source.text)
    data = reader.document()
    return from_data(_Resolver(data).resolve(data, 0))


def _fail(reason: str) -> NoReturn:
    raise argument_error("parsehocon", reason)


class _Reader:
    """Reads tokens into dicts and lists, which still contain references."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    def document(self) -> Any:
        self._skip()
        if self._is_sign("["):
            value: Any = self._array(0)
        elif self._is_sign("{"):
            value = self._object(0)
        else:
            value = self._entries(0, "")
        self._skip()
        if self._at < len(self._tokens):
            _fail(f"unexpected {self._tokens[self._at][1]!r}")
        return value

    def _peek(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _is_sign(self, sign: str) -> bool:
        return self._peek() == ("sign", sign)

    def _skip(self, kinds: tuple[str, ...] = ("gap", "line"), signs: str = "") -> None:
        while self._peek()[0] in kinds or (signs and self._peek()[0] == "sign" and self._peek()[1] in signs):
            self._at += 1

    def _object(self, depth: int) -> dict[str, Any]:
        self._at += 1
        entries = self._entries(depth, "}")
        if not self._is_sign("}"):
            _fail("an object is not closed")
        self._at += 1
        return entries

    def _entries(self, depth: int, end: str) -> dict[str, Any]:
        if depth > _MAX_DEPTH:
            _fail(f"nested deeper than {_MAX_DEPTH} levels")
        entries: dict[str, Any] = {}
        self._skip(signs=",")
        while self._peek()[0] != "end" and not (end and self._is_sign(end)):
            path = self._key()
            self._assign(entries, path, depth)
            self._skip(signs=",")
        return entries

    def _key(self) -> list[str]:
        parts, quoted = "", []
        while self._peek()[0] in ("word", "text", "multi", "gap"):
            kind, text = self._peek()
            self._at += 1
            if kind in ("text", "multi"):
                quoted.append(_unquote(kind, text))
                parts += f"\0{len(quoted) - 1}\0"
            else:
                parts += text
        if not parts.strip():
            _fail(f"expected a key, got {self._peek()[1]!r}")
        if parts.strip() == "include" or parts.startswith("include "):
            _fail("include is refused: it would read another file")
        return [
            re.sub("\0(\\d+)\0", lambda match: quoted[int(match[1])], part.strip()) for part in parts.strip().split(".")
        ]

    def _assign(self, into: dict[str, Any], path: list[str], depth: int) -> None:
        self._skip()
        kind, sign = self._peek()
        if (kind, sign) == ("sign", "{"):
            value: Any = self._value(depth)
        elif kind == "sign" and sign in (":", "=", "+="):
            self._at += 1
            self._skip()
            value = self._value(depth)
        else:
            _fail(f"expected a value for {'.'.join(path)}")
        if sign == "+=":
            present: Any = into
            for part in path:
                present = present.get(part) if isinstance(present, dict) else None
            value = [*(present if isinstance(present, list) else []), value]
        for part in reversed(path[1:]):
            value = {part: value}
        into[path[0]] = _merge(into.get(path[0]), value)

    def _value(self, depth: int) -> Any:
        parts: list[Any] = []
        gap = ""
        while True:
            kind, text = self._peek()
            if kind in ("line", "end") or (kind == "sign" and text not in "[{"):
                break
            if kind == "gap":
                gap, self._at = text, self._at + 1
                continue
            if parts and gap:
                parts.append(gap)
            gap = ""
            parts.append(self._part(kind, text, depth))
        if not parts:
            _fail("a value is missing")
        return _combine(parts)

    def _part(self, kind: str, text: str, depth: int) -> Any:
        if kind == "sign":
            return self._object(depth + 1) if text == "{" else self._array(depth + 1)
        self._at += 1
        if kind == "reference":
            return _Reference(text[2:-1])
        return _unquote(kind, text) if kind in ("text", "multi") else _Word(text)

    def _array(self, depth: int) -> list[Any]:
        self._at += 1
        items: list[Any] = []
        self._skip(signs=",")
        while not self._is_sign("]"):
            if self._peek()[0] == "end" or depth > _MAX_DEPTH:
                _fail("an array is not closed, or nested too deeply")
            items.append(self._value(depth))
            self._skip(signs=",")
        self._at += 1
        return items


class _Word(str):
    """A text without quotes, which may be a number or a keyword of JSON."""

    __slots__ = ()


def _tokens(text: str) -> Any:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            _fail(f"unexpected {text[at]!r}")
        at = match.end()
        if match.lastgroup != "comment":
            yield match.lastgroup, match[0]


def _unquote(kind: str, text: str) -> str:
    if kind == "multi":
        return text[3:-3]
    return _ESCAPE.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else _ESCAPES.get(match[2], match[2]), text[1:-1]
    )


def _combine(parts: list[Any]) -> Any:
    if len(parts) > 1:
        return _Concatenation(parts)
    (value,) = parts
    return _word_value(value) if isinstance(value, _Word) else value


def _word_value(word: str) -> Any:
    if word in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[word]
    if match := _NUMBER.fullmatch(word):
        return float(word) if match[2] or match[3] else int(word)
    return str(word)


def _merge(present: Any, value: Any) -> Any:
    if isinstance(present, dict) and isinstance(value, dict):
        merged = {key: _merge(present.get(key), item) for key, item in value.items()}
        return merged | {key: item for key, item in present.items() if key not in value}
    return value


class _Resolver:
    """Replaces references by the values that they name."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def resolve(self, value: Any, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            _fail("references form a cycle, or nest too deeply")
        if isinstance(value, dict):
            resolved = {key: self.resolve(item, depth + 1) for key, item in value.items()}
            return {key: item for key, item in resolved.items() if item is not _MISSING}
        if isinstance(value, list):
            return [item for item in (self.resolve(element, depth + 1) for element in value) if item is not _MISSING]
        if isinstance(value, _Reference):
            return self._look_up(value, depth)
        return self._concatenate(value, depth) if isinstance(value, _Concatenation) else value

    def _look_up(self, reference: _Reference, depth: int) -> Any:
        target: Any = self._root
        for step in reference.path:
            target = target.get(step, _MISSING) if isinstance(target, dict) else _MISSING
        if target is _MISSING and not reference.is_optional:
            _fail(f"no key is named {'.'.join(reference.path)}")
        return target if target is _MISSING else self.resolve(target, depth + 1)

    def _concatenate(self, value: _Concatenation, depth: int) -> Any:
        parts = [self.resolve(part, depth + 1) for part in value.parts]
        present_parts = [part for part in parts if part is not _MISSING]
        non_blank = [part for part in present_parts if not isinstance(part, str) or part.strip()]
        if non_blank and all(isinstance(part, dict) for part in non_blank):
            merged: Any = {}
            for part in non_blank:
                merged = _merge(merged, part)
            return merged
        if non_blank and all(isinstance(part, list) for part in non_blank):
            return [item for part in non_blank for item in part]
        if any(isinstance(part, dict | list) for part in present_parts):
            _fail("a text is next to an object or array")
        return "".join(ruby_text(from_data(part)) for part in present_parts) if present_parts else _MISSING
