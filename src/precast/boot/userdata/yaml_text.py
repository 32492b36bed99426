"""Reads YAML safely and within limits, and records the position of every value.

The text is untrusted and root reads it, so it yields plain values only. Events are composed without recursion, because PyYAML's loaders
crash the process on deep nesting. Aliases let a small text expand without end, so the expanded values are counted. Dates stay texts.
"""

from typing import Any, Final, NamedTuple

import yaml  # type: ignore[import-untyped]

from precast.base.spans import Source, Span
from precast.boot.modules.schema import Finding, Path
from precast.boot.userdata import issues

MAX_CHARACTERS: Final = 8 << 20
MAX_DEPTH: Final = 60
MAX_VALUES: Final = 200_000
_PARSER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT: Final = "tag:yaml.org,2002:str"
_DATE: Final = "tag:yaml.org,2002:timestamp"
_MERGE: Final = "tag:yaml.org,2002:merge"


class YamlDocument(NamedTuple):
    """A document: its value, the offset of each key and element by path, and findings about it."""

    value: Any
    offsets: dict[Path, int]
    findings: list[Finding]


class _Node(NamedTuple):
    """A value with its offset and its expanded size in values. Children are pairs or elements."""

    kind: str  # scalar, list or map
    offset: int
    weight: int
    value: Any = None
    pairs: tuple[tuple["_Node", "_Node"], ...] = ()
    elements: tuple["_Node", ...] = ()
    is_merge: bool = False
    depth: int = 0  # levels below it, including those of aliases


class _OpenCollection:
    __slots__ = ("anchor", "items", "kind", "offset", "weight")

    def __init__(self, kind: str, offset: int, anchor: str | None) -> None:
        self.kind = kind
        self.offset = offset
        self.anchor = anchor
        self.items: list[_Node] = []
        self.weight = 1


def load(source: Source) -> YamlDocument:
    """Load the first document of a text; its value is None if there is none. Raises InputError BOOT-300 or BOOT-301, with the position."""
    if len(source.text) > MAX_CHARACTERS:
        raise issues.TOO_MUCH.error(source, Span(0, 1), what="this text", limit=f"{MAX_CHARACTERS} characters")
    try:
        root = _Composer(source).compose()
    except yaml.reader.ReaderError as error:
        raise issues.BAD_YAML.error(source, _make_span(source, error.position), problem=error.reason) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(filter(None, (error.context, error.problem)))
        raise issues.BAD_YAML.error(source, _make_span(source, mark.index if mark else 0), problem=problem) from None
    offsets: dict[Path, int] = {}
    findings: list[Finding] = []
    value = None if root is None else _make_value(root, (), offsets, findings)
    return YamlDocument(value, offsets, findings)


def _make_span(source: Source, index: int) -> Span:
    start = max(0, min(index, len(source.text)))
    return Span(start, min(start + 1, len(source.text)))


class _Composer:
    """Composes the events of one document into nodes."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._anchors: dict[str, _Node] = {}
        self._stack: list[_OpenCollection] = []
        self._scalars = yaml.SafeLoader("")

    def compose(self) -> _Node | None:
        root: _Node | None = None
        for event in yaml.parse(self._source.text, Loader=_PARSER):
            if isinstance(event, yaml.CollectionStartEvent):
                self._open_collection(event)
                continue
            if isinstance(event, yaml.ScalarEvent):
                node = self._register_anchor(event.anchor, self._make_scalar(event))
            elif isinstance(event, yaml.AliasEvent):
                node = self._resolve_alias(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                node = self._close_collection()
            elif isinstance(event, yaml.DocumentEndEvent):
                break
            else:
                continue
            if not self._stack:
                root = node
                continue
            above = self._stack[-1]
            above.items.append(node)
            above.weight += node.weight
            if above.weight > MAX_VALUES:
                self._fail(event, "the expanded text", f"{MAX_VALUES} values")
            if node.depth > MAX_DEPTH:
                self._fail(event, "the nesting here", f"{MAX_DEPTH} levels")
        return root

    def _open_collection(self, event: Any) -> None:
        if len(self._stack) >= MAX_DEPTH:
            self._fail(event, "the nesting here", f"{MAX_DEPTH} levels")
        kind = "map" if isinstance(event, yaml.MappingStartEvent) else "list"
        self._stack.append(_OpenCollection(kind, event.start_mark.index, event.anchor))

    def _close_collection(self) -> _Node:
        done = self._stack.pop()
        node = _Node(done.kind, done.offset, done.weight, depth=1 + max((each.depth for each in done.items), default=0))
        if done.kind == "list":
            return self._register_anchor(done.anchor, node._replace(elements=tuple(done.items)))
        pairs = tuple(zip(done.items[::2], done.items[1::2], strict=True))
        return self._register_anchor(done.anchor, node._replace(pairs=pairs))

    def _register_anchor(self, anchor: str | None, node: _Node) -> _Node:
        if anchor is not None:
            self._anchors[anchor] = node
        return node

    def _resolve_alias(self, event: Any) -> _Node:
        node = self._anchors.get(event.anchor)
        if node is None:
            problem = f"there is no anchor &{event.anchor} before this alias"
            raise issues.BAD_YAML.error(self._source, _make_span(self._source, event.start_mark.index), problem=problem)
        return node._replace(offset=event.start_mark.index)

    def _make_scalar(self, event: Any) -> _Node:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._scalars.resolve(yaml.ScalarNode, event.value, event.implicit)
        offset = event.start_mark.index
        if tag in (_TEXT, _DATE):
            return _Node("scalar", offset, 1, event.value)
        if tag == _MERGE:
            return _Node("scalar", offset, 1, "<<", is_merge=True)
        node = yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark)
        try:
            value = self._scalars.construct_object(node)
        except (ValueError, OverflowError):
            value = event.value  # `!!int` of a text that is not a number, or a number that is too large
        return _Node("scalar", offset, 1, value)

    def _fail(self, event: Any, what: str, limit: str) -> None:
        raise issues.TOO_MUCH.error(
            self._source, _make_span(self._source, event.start_mark.index), what=what, limit=limit
        )


def _make_value(node: _Node, path: Path, offsets: dict[Path, int], findings: list[Finding]) -> Any:
    """Return the plain value of a node. Its depth is bounded, and an alias cannot refer to its own container."""
    offsets.setdefault(path, node.offset)
    if node.kind == "scalar":
        return node.value
    if node.kind == "list":
        return [_make_value(each, (*path, at), offsets, findings) for at, each in enumerate(node.elements)]
    made: dict[Any, Any] = {}
    merged: dict[Any, Any] = {}
    for key, each in node.pairs:
        if key.is_merge:
            for source in each.elements if each.kind == "list" else (each,):
                merged_in = _make_value(source, (*path, "<<"), offsets, findings)
                merged = {**merged_in, **merged} if isinstance(merged_in, dict) else merged
            continue
        name = key.value if key.kind == "scalar" else None
        if name is None or isinstance(name, float | bytes):
            name = str(name)
        here = (*path, name)
        if name in made and all(finding.path != here for finding in findings):
            findings.append(Finding(here, "is given twice; the last one counts", "keep one of them", True))
        offsets[here] = key.offset
        made[name] = _make_value(each, here, offsets, findings)
    return {**merged, **made}
