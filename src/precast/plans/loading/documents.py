"""Reads the YAML of a plan safely and within limits, with the place of every value.

The text comes from outside and a server reads it: it yields plain values only. Nodes are composed from the parser's events without
recursion, because PyYAML's own composers crash the process on deep nesting. Aliases let a small text expand without end, so the values are
counted as expanded. Dates stay texts, and so does a number that has no form in JSON.
"""

import math
import re
from typing import Any, Final, NamedTuple, NoReturn

import yaml  # type: ignore[import-untyped] # it has no types of its own

from precast.base.errors import Issue
from precast.base.spans import Source
from precast.plans import issues
from precast.plans.expanding.problems import make_problem
from precast.plans.loading.nodes import Entry, Node, shorten
from precast.plans.loading.problems import Problems, show_place
from precast.plans.model import PlanProblem, Position

MAX_VALUES: Final = 200_000  # of all files together
MAX_DEPTH: Final = 60
MAX_CHARACTERS: Final = 1 << 20  # of one file

_PARSER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PREFIX: Final = "tag:yaml.org,2002:"
_MERGE_KEY: Final = "<<"
_TEXTS: Final = frozenset(f"{_PREFIX}{name}" for name in ("str", "timestamp", "merge", "value"))
_SCALARS: Final = frozenset(f"{_PREFIX}{name}" for name in ("int", "float", "bool", "null"))
_COLLECTIONS: Final = frozenset((None, "!", f"{_PREFIX}map", f"{_PREFIX}seq"))
_NOT_ALLOWED: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HINTS: Final = {
    "tab character": "YAML allows no tabs for indentation; write blanks",
    "cannot start any token": "YAML allows no tabs for indentation; put a text that begins with a special character in quotes",
    "mapping values are not allowed": "put a text that contains a colon and a blank in quotes; check the indentation",
    "expected ':'": "write the key with a colon and a blank after it, as `key: value`",
    "end of stream": "something above is not closed: a quote, a bracket or a brace",
    "quoted scalar": "close the quotes",
    "flow": "close the bracket, and put commas between the items",
    "expected <block end>": "check the indentation of this line and of those above it",
    "block": "check the indentation of this line and of those above it",
}  # fmt: skip


class PlanText(NamedTuple):
    """The text of a file. A task of a later layer replaces one of an earlier layer that has the same id."""

    path: str
    text: str
    layer: int = 0


class DocumentRefused(Exception):
    """The file cannot be read any further."""

    def __init__(self, problem: PlanProblem) -> None:
        super().__init__(problem.text)
        self.problem = problem


class ValueBudget:
    """How many values the files of a load may still have, with those that their aliases stand for."""

    def __init__(self, values: int = MAX_VALUES) -> None:
        self.values = values


def read_document(file: PlanText, budget: ValueBudget, problems: Problems) -> Node | None:
    """The value of the only document of a file; None if it is empty. Raises DocumentRefused."""
    if len(file.text) > MAX_CHARACTERS:
        _refuse(issues.TOO_MUCH, Position(file.path, 1, 1), what="the file", limit=f"{MAX_CHARACTERS} characters")
    _refuse_characters(file)
    try:
        root = _Composer(file, budget, problems).compose()
    except yaml.MarkedYAMLError as error:
        # Other errors of YAML are about characters, which have been looked at.
        mark = error.problem_mark or error.context_mark
        at = Position(file.path, mark.line + 1, mark.column + 1) if mark else Position(file.path, 1, 1)
        problem = ", ".join(filter(None, (error.context, error.problem)))
        _refuse(issues.BAD_YAML, at, problem=problem, advice=_find_hint(problem))
    if root is not None:
        budget.values -= root.weight
    return root


def _refuse_characters(file: PlanText) -> None:
    """Refuse what YAML does not allow in a text. The parser would report it with an offset in bytes."""
    found = _NOT_ALLOWED.search(file.text)
    if found is not None:
        position = Source(file.path, file.text).position(found.start())
        code = f"U+{ord(found[0]):04X}"
        _refuse(issues.BAD_CHARACTER, Position(file.path, position.line, position.column), character=code)


def _find_hint(problem: str) -> str:
    return next((hint for part, hint in _HINTS.items() if part in problem), "check the indentation, colons and quotes")


def _show_tag(tag: str) -> str:
    return shorten(f"!!{tag.removeprefix(_PREFIX)}" if tag.startswith(_PREFIX) else tag)


def _refuse(issue: Issue, at: Position, /, **values: object) -> NoReturn:
    raise DocumentRefused(make_problem(issue, at, **values)) from None


class _Open:
    """A collection whose end has not been read yet."""

    __slots__ = ("anchor", "at", "depth", "is_mapping", "items", "weight")

    def __init__(self, at: Position, is_mapping: bool, anchor: str | None) -> None:
        self.at = at
        self.is_mapping = is_mapping
        self.anchor = anchor
        self.items: list[Node] = []
        self.weight = 1
        self.depth = 0


class _Composer:
    """Composes the events of a file into nodes."""

    def __init__(self, file: PlanText, budget: ValueBudget, problems: Problems) -> None:
        self._file = file
        self._budget = budget
        self._problems = problems
        self._anchors: dict[str, Node] = {}
        self._stack: list[_Open] = []
        self._scalars = yaml.SafeLoader("")

    def compose(self) -> Node | None:
        root: Node | None = None
        for event in yaml.parse(self._file.text, Loader=_PARSER):
            if isinstance(event, yaml.CollectionStartEvent):
                self._open(event)
            elif isinstance(event, yaml.ScalarEvent):
                root = self._add(event.anchor, self._make_scalar(event)) or root
            elif isinstance(event, yaml.AliasEvent):
                root = self._add(None, self._resolve_alias(event)) or root
            elif isinstance(event, yaml.CollectionEndEvent):
                root = self._add(*self._close()) or root
            elif isinstance(event, yaml.DocumentStartEvent) and root is not None:
                _refuse(issues.SECOND_DOCUMENT, self._at(event))
        return root

    def _at(self, event: Any) -> Position:
        return Position(self._file.path, event.start_mark.line + 1, event.start_mark.column + 1)

    def _open(self, event: Any) -> None:
        at = self._at(event)
        if len(self._stack) >= MAX_DEPTH:
            _refuse(issues.TOO_MUCH, at, what="the nesting here", limit=f"{MAX_DEPTH} levels")
        if event.tag not in _COLLECTIONS:
            _refuse(issues.BAD_TAG, at, tag=_show_tag(event.tag))
        self._stack.append(_Open(at, isinstance(event, yaml.MappingStartEvent), event.anchor))

    def _close(self) -> tuple[str | None, Node]:
        done = self._stack.pop()
        if not done.is_mapping:
            return done.anchor, Node(done.at, items=tuple(done.items), weight=done.weight, depth=done.depth)
        entries = self._make_entries(done.items)
        return done.anchor, Node(done.at, entries=entries, weight=done.weight, depth=done.depth)

    def _add(self, anchor: str | None, node: Node) -> Node | None:
        """Add a node to its collection; the node itself if it is the root of the document and not empty."""
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._stack:
            return None if node.is_null else node
        above = self._stack[-1]
        above.items.append(node)
        above.weight += node.weight
        above.depth = max(above.depth, node.depth + 1)
        if above.weight > self._budget.values:
            _refuse(
                issues.TOO_MUCH, node.at, what="the plan with what its aliases stand for", limit=f"{MAX_VALUES} values"
            )
        if len(self._stack) + node.depth > MAX_DEPTH:
            _refuse(issues.TOO_MUCH, node.at, what="the nesting here", limit=f"{MAX_DEPTH} levels")
        return None

    def _resolve_alias(self, event: Any) -> Node:
        node = self._anchors.get(event.anchor)
        if node is None:
            problem = f"there is no anchor &{shorten(event.anchor)} above, or it contains this alias"
            _refuse(
                issues.BAD_YAML, self._at(event), problem=problem, advice="aliases name anchors that end above them"
            )
        return node

    def _make_scalar(self, event: Any) -> Node:
        at, text, tag = self._at(event), event.value, event.tag
        if event.implicit[1] or tag == "!":
            return Node(at, text, text)
        if tag is None:
            tag = self._scalars.resolve(yaml.ScalarNode, text, event.implicit)
        if tag in _TEXTS:
            return Node(at, text, text)
        if tag not in _SCALARS:
            _refuse(issues.BAD_TAG, at, tag=_show_tag(tag))
        return Node(at, self._read_scalar(tag, text), text)

    def _read_scalar(self, tag: str, text: str) -> Any:
        try:
            value = self._scalars.construct_object(yaml.ScalarNode(tag, text))
        except (ValueError, LookupError, OverflowError):
            return text
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return text if is_number and not (math.isfinite(value) and abs(value) < 2**63) else value

    def _make_entries(self, items: list[Node]) -> dict[str, Entry]:
        """The entries of a mapping; of equal keys the last counts, and one that is merged never replaces one that is written."""
        entries: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        for key, value in zip(items[::2], items[1::2], strict=True):
            if key.value == _MERGE_KEY:
                self._merge(merged, value)
            elif not isinstance(key.value, str):
                self._problems.error(issues.BAD_KEY, key.at, key=key.describe())
            else:
                if (earlier := entries.get(key.value)) is not None:
                    counts = f"this counts, not that in {show_place(earlier.at, self._file.path)}"
                    self._problems.warn(issues.GIVEN_TWICE, key.at, what=shorten(key.value), counts=counts)
                entries[key.value] = Entry(key.at, value)
        return {**merged, **entries}

    def _merge(self, merged: dict[str, Entry], value: Node) -> None:
        for source in value.items if value.items is not None else (value,):
            if source.entries is None:
                advice = "write `<<: *ANCHOR`, with the anchor of a mapping"
                values = {
                    "what": "the value of <<",
                    "wanted": "a mapping",
                    "found": source.describe(),
                    "advice": advice,
                }
                self._problems.error(issues.WRONG_VALUE, source.at, **values)
            else:
                merged.update({key: entry for key, entry in source.entries.items() if key not in merged})
