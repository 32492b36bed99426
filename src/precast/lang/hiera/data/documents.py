"""Reads YAML and JSON into values of the language, within limits.

The parser is libyaml, which Ruby's Psych uses too, so both accept the same texts. The values are built from its events here, without
recursion: PyYAML's own loaders crash the process on deep nesting. An alias shares the value it names, so a small text can expand to
an enormous one; the limit counts the expanded values.
"""

import base64
import binascii
import json
import re
from typing import Any, Final, NamedTuple, NoReturn

import yaml  # type: ignore[import-untyped] # it has no types of its own

from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.lang.hiera import issues
from precast.lang.hiera.data.scalars import Refused, Symbol, scalar
from precast.lang.values.base import Hash, from_data

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_DEPTH: Final = 100
MAX_NODES: Final = 1_000_000
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BEGINNINGS: Final = frozenset((yaml.MappingStartEvent, yaml.SequenceStartEvent))
_ENDS: Final = frozenset((yaml.MappingEndEvent, yaml.SequenceEndEvent))
_STRING_TAGS: Final = frozenset(("tag:yaml.org,2002:str", "!str", "!ruby/string"))
_BINARY_TAGS: Final = frozenset(("tag:yaml.org,2002:binary", "!binary"))
_FLOAT_TAGS: Final = frozenset(("tag:yaml.org,2002:float", "!float"))
_REFUSED_TAGS: Final = frozenset(("tag:yaml.org,2002:set", "!set", "tag:yaml.org,2002:omap", "!omap"))


class _Node(NamedTuple):
    """A value, and the number of values it expands to. A Symbol used as a key is already a string."""

    value: Any
    weight: int
    kind: str  # scalar, sequence, mapping or alias; decides how a merge key treats it


class _OpenContainer:
    """A sequence or mapping whose end has not been read yet."""

    __slots__ = ("anchor", "items", "kind", "weight")

    def __init__(self, kind: str, anchor: str | None) -> None:
        self.kind = kind
        self.anchor = anchor
        self.items: list[_Node] = []
        self.weight = 1


def read_yaml(source: Source) -> Any:
    """The first document of a text; None if it is empty. Raises HIERA-001, HIERA-002, HIERA-003 with their place."""
    _check_size(source)
    try:
        return _Builder(source).document()
    except yaml.reader.ReaderError as error:
        raise issues.BAD_YAML.error(source, _at(source, error.position), problem=error.reason) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(filter(None, (error.context, error.problem)))
        raise issues.BAD_YAML.error(source, _at(source, mark.index if mark else 0), problem=problem) from None


def _check_size(source: Source) -> None:
    if len(source.text) > MAX_BYTES:
        raise issues.TOO_MUCH_YAML.error(
            source, Span(0, 0), what="the file is too large", limit=f"{MAX_BYTES} characters"
        )


def _at(source: Source, index: int) -> Span:
    start = max(0, min(index, len(source.text)))
    return Span(start, min(start + 1, len(source.text)))


class _Builder:
    """Builds the value of one document from the parser's events."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._anchors: dict[str, _Node] = {}
        self._stack: list[_OpenContainer] = []

    def document(self) -> Any:
        root = None
        stack = self._stack
        for event in yaml.parse(self._source.text, Loader=_LOADER):
            kind = type(event)
            if kind is yaml.ScalarEvent or kind is yaml.AliasEvent:
                node = self._leaf(event)
            elif kind in _BEGINNINGS:
                self._begin(event)
                continue
            elif kind in _ENDS:
                node = self._end()
            elif kind is yaml.DocumentEndEvent:
                break
            else:
                continue
            if stack:
                stack[-1].items.append(node)
                self._weigh(stack[-1], node, event)
            else:
                root = node.value  # keep parsing: an error may follow
        return root

    def _begin(self, event: Any) -> None:
        if len(self._stack) >= MAX_DEPTH:
            self._fail(event, issues.TOO_MUCH_YAML, what="the data is nested too deeply", limit=f"{MAX_DEPTH} levels")
        tag = event.tag
        if tag and (tag in _REFUSED_TAGS or tag.startswith("!ruby/")):
            self._fail(event, issues.NOT_ALLOWED_YAML, what=f"the tag {tag}")
        kind = "mapping" if isinstance(event, yaml.MappingStartEvent) else "sequence"
        self._stack.append(_OpenContainer(kind, event.anchor))

    def _end(self) -> _Node:
        done = self._stack.pop()
        value = _mapping(done.items) if done.kind == "mapping" else tuple(item.value for item in done.items)
        return self._anchored(done.anchor, _Node(value, done.weight, done.kind))

    def _leaf(self, event: Any) -> _Node:
        if isinstance(event, yaml.AliasEvent):
            anchored = self._anchors.get(event.anchor)
            if anchored is None:
                self._fail(event, issues.BAD_YAML, problem=f"unknown alias {event.anchor}, or one that contains itself")
            return anchored._replace(kind="alias")
        try:
            return self._anchored(event.anchor, _Node(_scalar(event), 1, "scalar"))
        except Refused as refused:
            self._fail(event, issues.NOT_ALLOWED_YAML, what=str(refused))

    def _anchored(self, anchor: str | None, node: _Node) -> _Node:
        if anchor:
            self._anchors[anchor] = node
        return node

    def _weigh(self, parent: _OpenContainer, node: _Node, event: Any) -> None:
        parent.weight += node.weight
        if parent.weight > MAX_NODES:
            self._fail(
                event, issues.TOO_MUCH_YAML, what="the data with its aliases is too large", limit=f"{MAX_NODES} values"
            )

    def _fail(self, event: Any, issue: Any, **fields: object) -> NoReturn:
        start = event.start_mark.index
        end = max(event.end_mark.index, start + 1)
        error: PrecastError = issue.error(self._source, Span(start, min(end, len(self._source.text))), **fields)
        raise error from None


def _scalar(event: Any) -> Any:
    tag, text = event.tag, event.value
    if event.implicit[1] or tag in _STRING_TAGS:
        return text
    if not tag or tag == "!":
        return scalar(text)
    if tag in _BINARY_TAGS:
        return _decoded(text)
    if tag in _FLOAT_TAGS:
        return _as_float(text)
    if tag.startswith("!ruby/sym"):
        return Symbol(text)
    if tag.startswith("!ruby/"):
        raise Refused(f"the tag {tag}")
    return scalar(text)


def _decoded(text: str) -> str:
    digits = re.sub("[^A-Za-z0-9+/]", "", text.partition("=")[0])
    try:
        return base64.b64decode(digits[: len(digits) - (len(digits) % 4 == 1)] + "==").decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise Refused("binary data that is not text") from None


def _as_float(text: str) -> float:
    value = scalar(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused(f"'{text}' as a float")
    return float(value)


def _mapping(items: list[_Node]) -> Hash:
    """A hash from alternating keys and values; a later key replaces an earlier one, and `<<` merges the entries of its value."""
    pairs: list[tuple[Any, Any]] = []
    for key, value in zip(items[::2], items[1::2], strict=True):
        name = key.value
        merged = _merged(value) if name == "<<" else None
        if merged is not None:
            pairs += merged.items()
        else:
            pairs.append((str(name) if isinstance(name, Symbol) else name, value.value))
    return Hash.of(pairs)


def _merged(value: _Node) -> Hash | None:
    """The entries that `<<` merges; None if it is an ordinary key."""
    if value.kind in ("alias", "mapping"):
        return value.value if isinstance(value.value, Hash) else None
    if value.kind != "sequence" or not all(isinstance(item, Hash) for item in value.value):
        return None
    entries = Hash()
    for item in reversed(value.value):
        entries = entries.merged(item)
    return entries


def read_json(source: Source) -> Any:
    """Parse a JSON text. Raises HIERA-003, HIERA-004 with their place."""
    _check_size(source)
    try:
        data = json.loads(source.text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise issues.BAD_JSON.error(source, _at(source, error.pos), problem=error.msg) from None
    except Refused as refused:
        raise issues.BAD_JSON.error(source, Span(0, 0), problem=str(refused)) from None
    except (RecursionError, ValueError):
        raise issues.TOO_MUCH_YAML.error(
            source,
            Span(0, 0),
            what="the data is nested too deeply, or has too long a number",
            limit=f"{MAX_DEPTH} levels",
        ) from None
    if _depth(data) > MAX_DEPTH:
        raise issues.TOO_MUCH_YAML.error(
            source, Span(0, 0), what="the data is nested too deeply", limit=f"{MAX_DEPTH} levels"
        )
    return from_data(data)


def _refuse(name: str) -> NoReturn:
    raise Refused(f"{name} is not a JSON number")


def _depth(data: Any) -> int:
    deepest, level = 0, [data]
    while level:
        level = [
            item
            for container in level
            if isinstance(container, dict | list)
            for item in (container.values() if isinstance(container, dict) else container)
        ]
        deepest += 1
    return deepest
