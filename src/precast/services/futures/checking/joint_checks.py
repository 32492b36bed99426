"""Checks a job before it starts: whether its nodes would wait for each other, or for values that nobody promises.

Only nodes whose catalogs promise or need something are looked at, and of these one document for all that share it. Lines of resources
are read only to explain what is wrong.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from precast.base.confinement.confine import Level
from precast.services.futures.checking import issues
from precast.services.futures.checking.messages import EMPTY, CheckedPart, JointAnswer, JointRequest
from precast.services.futures.checking.process import check_in_child
from precast.store.catalogs.documents import Documents
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.futures import catalog_futures, standing_values
from precast.store.futures.catalog_futures import NodeCatalog
from precast.store.traces import Traces

# Parts of a job, and catalogs that are explained with their lines.
MAX_PARTS = 300_000
MAX_EXPLAINED = 200
# Processes that check at once: each may use gigabytes.
PROCESSES = 1
# Nodes that are looked up in one transaction.
PAGE = 1_000


class PlannedPart(NamedTuple):
    """What a job lets a node apply: its released catalog or a part of it. A part without a node's catalog only has an order."""

    part: CheckedPart
    document: str


class JointChecks:
    """Holds no state between calls but the turn of the process."""

    def __init__(self, database: Database, documents: Documents, traces: Traces, level: Level = Level.STRICT) -> None:
        self._database, self._documents, self._traces, self._level = database, documents, traces, level
        self._turns = asyncio.Semaphore(PROCESSES)

    async def require_sound(self, nodes: Sequence[str], run_tags: Sequence[str] = ()) -> None:
        """Check that nodes can apply their served catalogs at the same time.

        Raises ConflictError FUTURE-050 if they would wait for ever, UnavailableError FUTURE-051 if that could not be checked.
        """
        answer = await self.check_nodes(nodes, run_tags)
        if answer.reason:
            raise issues.NOT_CHECKED.error(reason=answer.reason)
        if answer.problems:
            first, others = answer.problems[0], len(answer.problems) - 1
            more = f" (and {others} more)" if others else ""
            raise issues.NOT_SOUND.error(problem=first.text, more=more, hint=first.hint)

    async def check_nodes(self, nodes: Sequence[str], run_tags: Sequence[str] = ()) -> JointAnswer:
        """What is wrong if nodes apply their catalogs at the same time; nothing if none of them needs a value."""
        catalogs: list[NodeCatalog] = []
        for start in range(0, len(nodes), PAGE):
            page = nodes[start : start + PAGE]
            catalogs += await self._database.read(catalog_futures.list_catalogs, page)
        return await self.check_parts(
            [PlannedPart(CheckedPart(row.node, run_tags=list(run_tags)), row.document) for row in catalogs],
            sorted({row.environment for row in catalogs}),
        )

    async def has_needs(self, documents: Sequence[str]) -> bool:
        """Whether any of these catalogs needs a value."""
        keys = await self._database.read(catalog_futures.find_keys, documents)
        return any(found.needs for found in keys.values())

    async def check_parts(self, parts: Sequence[PlannedPart], environments: Sequence[str]) -> JointAnswer:
        """What is wrong if a job applies these parts."""
        keys = await self._database.read(catalog_futures.find_keys, [part.document for part in parts if part.document])
        needed = {key for found in keys.values() for key in found.needs}
        if not needed:
            return JointAnswer()
        if len(parts) > MAX_PARTS:
            return JointAnswer(reason=f"it has {len(parts)} parts, more than {MAX_PARTS}")
        standing = await self._database.read(_find_standing, environments, needed)
        documents = sorted(keys)
        index = {digest: at for at, digest in enumerate(documents)}
        checked = [msgspec.structs.replace(part.part, document=index.get(part.document, EMPTY)) for part in parts]
        request = JointRequest(checked, sorted(standing), len(documents))
        async with self._turns:
            answer = await check_in_child(request, documents, self._read, self._level)
            if not answer.problems or len(documents) > MAX_EXPLAINED:
                return answer
            maps = [await self._database.read(self._traces.find_source_map, digest) for digest in documents]
            explained = msgspec.structs.replace(request, source_maps=len(maps))
            given = [*documents, *(digest or "" for digest in maps)]
            return await check_in_child(explained, given, self._read, self._level)

    async def _read(self, digest: str) -> bytes:
        return await self._documents.read(digest) or b""


def _find_standing(environments: Sequence[str], keys: set[str]) -> Transaction[set[str]]:
    """Those of the keys that have a value in every one of the environments."""
    rows = yield from standing_values.list_of_keys(
        [(environment, key) for environment in environments for key in sorted(keys)]
    )
    having: dict[str, set[str]] = {}
    for row in rows:
        having.setdefault(row.key, set()).add(row.owner)
    return {key for key, found in having.items() if len(found) == len(environments)}
