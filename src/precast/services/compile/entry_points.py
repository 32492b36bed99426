"""Entry points of nodes: plans want their catalogs, the decider stages them like any catalog, and jobs pin what they apply.

A want stays as long as it is renewed within the retention (`services.catalogs.pruning`): until then every decision about the node, because
of changed facts, code or classification, decides upon its entry points too. A job that pins a catalog holds it, so that it applies exactly
that one, whatever is staged meanwhile.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from precast.lang.entry_points import check_entry_point
from precast.services.catalogs.leaf_problems import read_leaves
from precast.services.compile.inputs import NodeVersion, find_versions
from precast.services.facts.intake import FACTS
from precast.services.work_kinds import COMPILE, DECIDE
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.entries import EntryRow
from precast.store.catalogs.entry_holds import EntryPin
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.facts.views import find_digests
from precast.store.nodes.nodes import Fleet
from precast.store.queue.kinds import ItemRequest
from precast.store.queue.queue import WorkQueue, find_dead_keys, find_dead_letter, find_items
from precast.store.traces import Traces


class EntryCatalog(msgspec.Struct, frozen=True):
    """The catalog of an entry point for a node: its digest, or why there is none. Environment and version are those of its code.

    `document` is what it is filled from.
    """

    digest: str | None
    error: str = ""
    environment: str = ""
    version: str = ""
    document: str = ""


class EntryPoints:
    """Holds no state between calls. Every method is part of the caller's transaction."""

    def __init__(
        self,
        database: Database,
        catalogs: Catalogs,
        traces: Traces,
        fleet: Fleet,
        environments: Environments,
        work: WorkQueue,
    ) -> None:
        self._database, self._catalogs, self._traces = database, catalogs, traces
        self._fleet, self._environments, self._work = fleet, environments, work

    def want(self, nodes: Sequence[str], entries: Sequence[str], now: datetime) -> Transaction[None]:
        """Want the catalogs of these entry points for each of these nodes, and request the decisions that are missing.

        Nodes that are not active are left out. A large number of nodes is wanted in pages. Raises InputError LANG-767.
        """
        for entry in entries:
            check_entry_point(entry)
        versions = yield from find_versions(self._fleet, self._environments, nodes)
        rows = yield from self._catalogs.entries.find(list(versions), entries)
        yield from self._catalogs.entries.want(versions, entries, now)
        stale = [
            node
            for node, version in versions.items()
            if not all(_is_current(rows.get((node, entry)), version) for entry in entries)
        ]
        yield from self._work.enqueue_items(DECIDE.name, [ItemRequest(node) for node in sorted(stale)])

    def find_entries(
        self, nodes: Sequence[str], entries: Sequence[str]
    ) -> Transaction[dict[tuple[str, str], EntryCatalog]]:
        """Find the catalogs of entry points, of the current code of each node. One that is not decided upon yet is absent."""
        versions = yield from find_versions(self._fleet, self._environments, nodes)
        idle = yield from self._explain_idle(nodes, versions)
        rows = yield from self._catalogs.entries.find([node for node in nodes if node not in idle], entries)
        staged = {key: row for key, row in rows.items() if _is_current(row, versions[key[0]])}
        given_up = yield from self._find_given_up(sorted({node for node, entry in rows.keys() - staged.keys()}))
        found = {(node, entry): EntryCatalog(None, reason) for node, reason in idle.items() for entry in entries}
        for key in rows.keys() - staged.keys():
            if reason := rows[key].trouble or given_up.get(key) or given_up.get((key[0], "")):
                found[key] = EntryCatalog(None, reason)
        return found | (yield from self._read_staged(staged))

    def hold(self, job: str, pins: Iterable[EntryPin]) -> Transaction[list[EntryPin]]:
        """Hold these catalogs for a job, in place of what it held of the same entry points.

        Returns the pins that are not held, because another catalog is staged by now.
        """
        return (yield from self._catalogs.holds.hold(job, pins, self._database.clock.now()))

    def copy_holds(self, source: str, job: str, keys: Iterable[tuple[str, str]]) -> Transaction[None]:
        """Hold for a job what another job holds: pairs of node and entry point."""
        yield from self._catalogs.holds.copy(source, job, keys, self._database.clock.now())

    def release(self, job: str) -> Transaction[None]:
        """Let go of everything that a job holds. Its nodes can no longer fetch these catalogs."""
        yield from self._catalogs.holds.release(job)

    def _explain_idle(self, nodes: Sequence[str], versions: Mapping[str, NodeVersion]) -> Transaction[dict[str, str]]:
        """Why nodes among these can have no catalog at all."""
        with_facts = yield from find_digests(nodes)
        inbox = yield from find_items(
            FACTS.name, [node for node in nodes if node not in with_facts], self._database.clock.now()
        )
        reasons: dict[str, str] = {}
        for node in nodes:
            if (version := versions.get(node)) is None:
                reasons[node] = "the node does not exist, or is not active"
            elif version.version is None:
                reasons[node] = f"nothing is deployed to its environment {version.environment}"
            elif node not in with_facts and node not in inbox:
                reasons[node] = "the node has sent no facts"
        return reasons

    def _find_given_up(self, nodes: Sequence[str]) -> Transaction[dict[tuple[str, str], str]]:
        """The entry points whose compile was given up and not requested again, with the reason; the empty one for a node's decision."""
        reasons: dict[tuple[str, str], str] = {}
        for node in (yield from find_dead_keys(DECIDE.name, nodes)):
            reasons[node, ""] = yield from _describe_end("its decision", DECIDE.name, node)
        branches = yield from self._traces.find_entry_branches(nodes)
        dead = yield from find_dead_keys(COMPILE.name, sorted(set(branches.values())))
        texts: dict[str, str] = {}
        for branch in dead:
            texts[branch] = yield from _describe_end("its compile", COMPILE.name, branch)
        return reasons | {waiter: texts[branch] for waiter, branch in branches.items() if branch in dead}

    def _read_staged(
        self, staged: Mapping[tuple[str, str], EntryRow]
    ) -> Transaction[dict[tuple[str, str], EntryCatalog]]:
        failed = [row.chain for row in staged.values() if row.digest is None and row.chain is not None]
        leaves = yield from read_leaves(self._traces, failed)
        catalogs = {}
        for key, row in staged.items():
            error = "" if row.digest is not None else leaves[row.chain or ""].error or "its code gives an error"
            catalogs[key] = EntryCatalog(
                row.digest, error, row.environment or "", row.version or "", row.skeleton or ""
            )
        return catalogs


def _describe_end(what: str, kind: str, key: str) -> Transaction[str]:
    letter = yield from find_dead_letter(kind, key)
    return f"{what} was given up" + ("" if letter is None else f": {letter.last_error}")


def _is_current(row: EntryRow | None, version: NodeVersion) -> bool:
    """Whether an entry point was decided upon with the current code of its node."""
    if row is None or row.chain is None or row.trouble:
        return False
    return NodeVersion(row.environment or "", row.version) == version
