"""The catalogs that the programs of a run apply or test: the released one of a node, and those of entry points.

A run pins their versions. What is not staged yet for an entry point is requested, and a start waits for it: for a bounded time, since the
compiler service may be busy or away.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from precast.plans.model import PlanProblem
from precast.plans.views.descriptions import count
from precast.plans.views.problem_view import problem_of
from precast.services.compile.entry_points import EntryCatalog, EntryPoints
from precast.services.plans import issues
from precast.store.catalogs.entries import DECIDED_TOPIC
from precast.store.catalogs.entry_holds import EntryPin
from precast.store.catalogs.released import SERVED_LOOKUP
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.plans.runs import ProgramRow
from precast.wire.jobs.programs import CatalogWork, CleanTest, ManifestWork, TaskProgram, parse_program

# How long a start waits for catalogs of entry points.
WAIT_S = 120.0
# What is decided wakes the wait; a wake-up that gets lost costs so long.
LOOK_S = 2.0
# Nodes whose entry points are wanted in one transaction.
PAGE = 200


class CatalogNeeds(NamedTuple):
    """Which nodes need their released catalog, by a task that needs it, and which entry points."""

    released: Mapping[str, str]
    entries: Sequence[tuple[str, str]]


class PinnedCatalogs(NamedTuple):
    """The versions by node and entry point, their documents by both, and what is missing."""

    catalogs: dict[str, dict[str, str]]
    documents: dict[tuple[str, str], str]
    errors: list[PlanProblem]


class CatalogPins:
    """Holds no state between calls."""

    def __init__(self, database: Database, entries: EntryPoints, environments: Environments) -> None:
        self._database, self._entries, self._environments = database, entries, environments

    def hold(self, job: str, pinned: Mapping[str, Mapping[str, str]]) -> Transaction[None]:
        """Hold the pinned catalogs of entry points for a job. Raises UnavailableError PLAN-109 if others are staged by now."""
        pins = [
            EntryPin(node, entry, digest)
            for node, catalogs in sorted(pinned.items())
            for entry, digest in sorted(catalogs.items())
            if entry
        ]
        gone = (yield from self._entries.hold(job, pins)) if pins else []
        if gone:
            raise issues.STILL_COMPILING.error(
                count=count(len(gone), "catalog"), entry=gone[0].entry, node=gone[0].node
            )

    def copy_holds(self, source: str, job: str, pinned: Mapping[str, Mapping[str, str]]) -> Transaction[None]:
        """Hold for a job the catalogs of entry points that another job holds."""
        keys = [(node, entry) for node, catalogs in sorted(pinned.items()) for entry in sorted(catalogs) if entry]
        if keys:
            yield from self._entries.copy_holds(source, job, keys)

    async def check_approvals(self, environment: str, programs: Sequence[ProgramRow]) -> list[PlanProblem]:
        """Where releases need approvals, nobody applies an entry point, which was never released: the error, if a program would."""
        found = await self._database.read(self._environments.find, environment)
        if found is None or not found.release_approvals:
            return []
        for row in programs:
            program = parse_program(row.program)
            if isinstance(program.work, ManifestWork) and program.work.mode == "enforce":
                needed = found.release_approvals
                return [
                    problem_of(issues.APPROVALS_NEEDED.error(environment=environment, needed=needed, task=program.task))
                ]
        return []

    async def find(self, programs: Sequence[ProgramRow], *, wait: bool) -> PinnedCatalogs:
        """The catalogs that programs need. Those of entry points only if the caller waits for them. Raises UnavailableError PLAN-109."""
        needs = find_needs(programs)
        pinned = PinnedCatalogs(defaultdict(dict), {}, [])
        served = await self._database.read(_find_served, sorted(needs.released))
        for node, task in sorted(needs.released.items()):
            if node in served:
                pinned.catalogs[node][""], pinned.documents[node, ""] = served[node]
            else:
                pinned.errors.append(problem_of(issues.NOTHING_RELEASED.error(task=task, node=node)))
        if wait and needs.entries:
            pinned.errors.extend(await self._find_entries(needs.entries, pinned))
        return pinned._replace(catalogs=dict(pinned.catalogs))

    async def _find_entries(self, wanted: Sequence[tuple[str, str]], pinned: PinnedCatalogs) -> list[PlanProblem]:
        found = await self._wait_for(wanted)
        late = [key for key in wanted if key not in found]
        if late:
            node, entry = late[0]
            raise issues.STILL_COMPILING.error(count=count(len(late), "catalog"), entry=entry, node=node)
        failed = [(key, catalog.error) for key, catalog in sorted(found.items()) if catalog.digest is None]
        for (node, entry), catalog in found.items():
            if catalog.digest is not None:
                pinned.catalogs[node][entry], pinned.documents[node, entry] = catalog.digest, catalog.document
        if not failed:
            return []
        (node, entry), reason = failed[0]
        first_line = (reason or "").partition("\n")[0]
        counted = count(len(failed), "catalog")
        return [problem_of(issues.NOT_COMPILED.error(count=counted, entry=entry, node=node, reason=first_line))]

    async def _wait_for(self, wanted: Sequence[tuple[str, str]]) -> dict[tuple[str, str], EntryCatalog]:
        """Request catalogs, and wait until there is one, or an error, for each; after `WAIT_S` return those that there are."""
        clock = self._database.clock
        until_s = clock.monotonic_s() + WAIT_S
        groups = _group_by_entries(wanted)
        with self._database.wakeups.subscribe(DECIDED_TOPIC) as sleeper:
            for nodes, entries in groups:
                await self._database.write(self._entries.want, nodes, entries, clock.now())
            while True:
                found: dict[tuple[str, str], EntryCatalog] = {}
                for nodes, entries in groups:
                    found |= await self._database.read(self._entries.find_entries, nodes, entries)
                left_s = until_s - clock.monotonic_s()
                if len(found) == len(wanted) or left_s <= 0:
                    return found
                await sleeper.wait(min(left_s, LOOK_S))


def _group_by_entries(wanted: Sequence[tuple[str, str]]) -> list[tuple[list[str], list[str]]]:
    """Pages of nodes that need the same entry points, with these."""
    by_node: dict[str, list[str]] = defaultdict(list)
    for node, entry in wanted:
        by_node[node].append(entry)
    by_entries: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for node, entries in sorted(by_node.items()):
        by_entries[tuple(sorted(entries))].append(node)
    return [
        (nodes[start : start + PAGE], list(entries))
        for entries, nodes in by_entries.items()
        for start in range(0, len(nodes), PAGE)
    ]


def find_needs(programs: Sequence[ProgramRow]) -> CatalogNeeds:
    """The catalogs that programs apply or test."""
    released: dict[str, str] = {}
    entries: set[tuple[str, str]] = set()
    for row in programs:
        program = parse_program(row.program)
        for work in list_catalog_works(program):
            if isinstance(work, ManifestWork):
                entries.update((node, work.entry) for node in row.nodes)
            else:
                released.update(dict.fromkeys(row.nodes, program.task))
    return CatalogNeeds(released, sorted(entries))


def list_catalog_works(program: TaskProgram) -> list[CatalogWork | ManifestWork]:
    """The works of a program that concern catalogs, those of its tests included."""
    works = [program.work, *(test.work for test in (*program.before, *program.after) if isinstance(test, CleanTest))]
    return [work for work in works if isinstance(work, CatalogWork | ManifestWork)]


def find_versions(program: TaskProgram, pinned: Mapping[str, str]) -> dict[str, str]:
    """The versions of the catalogs that a program applies or tests, by entry point, of those that are pinned for its node."""
    entries = {work.entry if isinstance(work, ManifestWork) else "" for work in list_catalog_works(program)}
    return {entry: pinned[entry] for entry in sorted(entries) if entry in pinned}


def _find_served(nodes: Sequence[str]) -> Transaction[dict[str, tuple[str, str]]]:
    found = yield from SERVED_LOOKUP.find_each(nodes)
    return {release.node: (release.digest, release.skeleton) for release in found if release is not None}
