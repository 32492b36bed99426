"""What a compile can learn about the exports of other nodes, and which of them a collector's query matches.

A query is plain data: null for all, [sign, field, value] with `=` or `!=`, or ["and" or "or", query, query]. A field is "title", "tag" or
["parameter", name]. Values compare as in the language: strings without case, and an array equals a value that it contains.
"""

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from precast.base import digests
from precast.catalog.exports import ExportedResource, digest_exports, encode_exports, sort_exports
from precast.lang.inputs import ExportedQuery
from precast.lang.values.folding import fold


class ExportsAnswer(msgspec.Struct, frozen=True):
    """The exports that match a query, as a canonical list, with the digest that answers the question; both of one moment."""

    digest: digests.Digest
    exports: bytes


def answer_exports(exports: Iterable[ExportedResource]) -> ExportsAnswer:
    found = sort_exports(exports)
    return ExportsAnswer(digest_exports(found), encode_exports(found))


class OtherExports(Protocol):
    """The exports of all other nodes that a node's compile may collect."""

    def find(self, node: str, question: ExportedQuery) -> ExportsAnswer:
        """What the question of this node matches. Within one compile, equal questions get equal answers."""


class KnownExports:
    """Exports that are all in memory: of a command on this machine, or of a test."""

    def __init__(self, exports: Iterable[ExportedResource] = ()) -> None:
        self._exports = tuple(exports)

    def find(self, node: str, question: ExportedQuery) -> ExportsAnswer:
        return answer_exports(export for export in self._exports if export.node != node and is_match(export, question))


def is_match(export: ExportedResource, question: ExportedQuery) -> bool:
    """Whether a resource has the type of a question and its query matches."""
    return export.type == question.type_name and _matches(export, question.query)


def _matches(export: ExportedResource, query: Any) -> bool:
    if query is None:
        return True
    sign, left, right = query
    match sign:
        case "and":
            return _matches(export, left) and _matches(export, right)
        case "or":
            return _matches(export, left) or _matches(export, right)
        case "=" if left == "tag":
            return right in export.tags
        case "=":
            return _has_value(export, left, right)
        case _:
            return right not in export.tags if left == "tag" else not _equals(_field(export, left), right)


def _has_value(export: ExportedResource, field: Any, value: Any) -> bool:
    actual = _field(export, field)
    if isinstance(actual, list) and not isinstance(value, list | tuple):
        return any(_equals(item, value) for item in actual)
    return _equals(actual, value)


def _field(export: ExportedResource, field: Any) -> Any:
    return export.title if field == "title" else export.parameters.get(field[1])


def _equals(left: Any, right: Any) -> bool:
    """The language's `==` for data. A value that JSON lacks, such as a Sensitive, equals nothing."""
    if isinstance(left, str) and isinstance(right, str):
        return left == right or fold(left) == fold(right)
    if isinstance(left, bool) or isinstance(right, bool) or left is None or right is None:
        return left is right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_equals, left, right))
    return isinstance(left, int | float) and isinstance(right, int | float) and left == right
