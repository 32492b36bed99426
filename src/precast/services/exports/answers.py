"""Answers the questions of collectors: from what other nodes export now, the same for a walk, the compile that follows it, and its worker.

Announcements divide time into rounds. A walk may use exports that are as new as the last announcement: whoever changes them afterwards
announces that too, and every collector is decided upon again. So a compile and the decision that follows it see the same exports, even
while further nodes are being released, and a collector is compiled once for each round and not once for each exporter.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from precast.base import canonical, digests
from precast.catalog.exports import ExportedResource
from precast.catalog.secret_references import REFERENCE, references
from precast.catalog.secret_values import fill_value
from precast.lang.exports import ExportsAnswer, is_match
from precast.lang.inputs import ExportedQuery
from precast.services.exports import issues
from precast.services.exports.publishing import decode_export
from precast.services.exports.scopes import find_scope, find_seen
from precast.services.secrets.values import SecretValue
from precast.services.traces.costly_answers import ExportsToRead, NotAnswered
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.exports import resources
from precast.store.exports.resources import ExportRow
from precast.store.exports.rounds import TypeKey

# Exports of one type that the nodes of an environment can see.
MAX_EXPORTS = 50_000
# Exports that are cached, by the bytes of their rows.
MAX_CACHED_BYTES = 128 * 1024 * 1024
# Queries over the exports of one type whose results are kept.
MAX_QUERIES = 1_000


# A body with a secret contains these bytes.
_SECRET = f'"{REFERENCE}"'.encode()


class _Export(NamedTuple):
    row: ExportRow
    resource: ExportedResource


class SecretOpener(Protocol):
    """Opens the values of secrets."""

    async def open_values(self, environment: str, refs: Sequence[str]) -> Sequence[SecretValue]:
        """The values of references that the catalogs of an environment have."""


class _Matches:
    """The exports that match a query."""

    def __init__(self, exports: list[_Export]) -> None:
        self._exports = exports
        self._nodes = frozenset(export.row.node for export in exports)
        self._digests: dict[str, digests.Digest] = {}

    def list_for(self, node: str) -> list[_Export]:
        """The exports of other nodes, in their order."""
        return [export for export in self._exports if export.row.node != node]

    def digest(self, node: str) -> digests.Digest:
        owner = node if node in self._nodes else ""
        if owner not in self._digests:
            self._digests[owner] = digests.of_bytes(_join(export.row.body for export in self.list_for(owner)))
        return self._digests[owner]


class TypeExports:
    """All exports of one type that an environment sees, as of some generations."""

    def __init__(self, generations: dict[TypeKey, int], rows: Iterable[ExportRow]) -> None:
        self.generations = generations
        exports = [_Export(row, decode_export(row.body)) for row in rows]
        self._exports = sorted(exports, key=lambda export: (export.resource.title, export.row.node))
        self.size = sum(len(export.row.body) for export in exports)
        self._matches: dict[bytes, _Matches] = {}

    def find(self, question: ExportedQuery) -> _Matches:
        key = canonical.encode(question.query)
        matches = self._matches.get(key)
        if matches is None:
            if len(self._matches) >= MAX_QUERIES:
                self._matches.clear()
            matches = self._matches[key] = _Matches(
                [export for export in self._exports if is_match(export.resource, question)]
            )
        return matches

    def is_as_new_as(self, announced: dict[TypeKey, int]) -> bool:
        return all(self.generations.get(key, 0) >= generation for key, generation in announced.items())


class ExportReads:
    """The exports that the decisions about some nodes of one environment read. Walks look them up here, in a thread."""

    def __init__(self, answers: "ExportAnswers", environment: str) -> None:
        self._answers, self._environment = answers, environment
        self.asked: dict[str, set[str]] = {}  # the types that each node asked for
        self.types: dict[str, TypeExports] = {}
        self.scope = TypeKey(environment, "", "")

    def find(self, node: str, question: ExportedQuery) -> ExportsAnswer:
        """The digest of what a question matches. Raises NotAnswered."""
        exports = self.types.get(question.type_name)
        if exports is None:
            raise NotAnswered(ExportsToRead(question.type_name))
        self.asked.setdefault(node, set()).add(question.type_name)
        return ExportsAnswer(exports.find(question).digest(node), b"")

    async def load(self, type_name: str) -> None:
        """Read the exports of a type. Raises UnavailableError EXPORT-001."""
        if type_name not in self.types:
            self.scope, self.types[type_name] = await self._answers.load(self._environment, type_name)


class ExportAnswers:
    """Reads exports from the database; holds only a cache."""

    def __init__(
        self,
        database: Database,
        environments: Environments,
        secrets: SecretOpener,
    ) -> None:
        self._database, self._environments, self._secrets = database, environments, secrets
        self._cached: OrderedDict[TypeKey, TypeExports] = OrderedDict()
        self._size = 0

    def begin(self, environment: str) -> ExportReads:
        """The exports for the decisions about some nodes of an environment; read when the first of them is asked for."""
        return ExportReads(self, environment)

    async def answer(self, environment: str, node: str, question: ExportedQuery) -> ExportsAnswer:
        """The answer for the worker that compiles for a node: with the values of secrets, which its digest does not cover."""
        _, exports = await self.load(environment, question.type_name)
        matches = exports.find(question)
        return ExportsAnswer(matches.digest(node), await self._open(matches.list_for(node)))

    async def _open(self, exports: Sequence[_Export]) -> bytes:
        """The list in canonical JSON, with values in the place of references: each is one of the exporter's environment."""
        refs: dict[str, set[str]] = {}
        for export in exports:
            if _SECRET in export.row.body:
                refs.setdefault(export.row.environment, set()).update(references(export.resource.parameters))
        values = {
            environment: {
                value.ref: value.value for value in await self._secrets.open_values(environment, sorted(names))
            }
            for environment, names in sorted(refs.items())
        }
        return _join(
            _fill(export, values[export.row.environment]) if _SECRET in export.row.body else export.row.body
            for export in exports
        )

    async def load(self, environment: str, type_name: str) -> tuple[TypeKey, TypeExports]:
        """What the nodes of an environment see of a type, at least as new as its last announcement."""
        scope, found = await self._database.read(self._read, environment, type_name)
        key = scope._replace(type=type_name)
        known = self._cached.get(key)
        if known is not found:
            self._size += found.size - (known.size if known is not None else 0)
            self._cached[key] = found
        self._cached.move_to_end(key)
        while self._size > MAX_CACHED_BYTES and len(self._cached) > 1:
            self._size -= self._cached.popitem(last=False)[1].size
        return scope, found

    def _read(self, environment: str, type_name: str) -> Transaction[tuple[TypeKey, TypeExports]]:
        scope = yield from find_scope(self._environments, environment)
        seen = yield from find_seen(scope._replace(type=type_name))
        known = self._cached.get(scope._replace(type=type_name))
        if known is not None and known.is_as_new_as({key: round_.announced for key, round_ in seen.items()}):
            return scope, known
        rows = yield from resources.list_of_type(type_name, scope.environment, scope.state, MAX_EXPORTS + 1)
        if len(rows) > MAX_EXPORTS:
            raise issues.TOO_MANY.error(environment=environment, limit=MAX_EXPORTS, type=type_name)
        return scope, TypeExports({key: round_.generation for key, round_ in seen.items()}, rows)


def _join(bodies: Iterable[bytes]) -> bytes:
    """Rows in canonical JSON as one list."""
    return b"[" + b",".join(bodies) + b"]"


def _fill(export: _Export, values: Mapping[str, bytes]) -> bytes:
    parameters = fill_value(export.resource.parameters, values)
    return canonical.encode(msgspec.structs.replace(export.resource, parameters=parameters))
