"""Tells whether nodes have the catalogs of their newest code: an operator who has just deployed waits for that before a release.

A node is ready when it was decided upon with the current version of its environment, and no other decision is requested: neither in the
queue, nor by a compile that the node waits for, whose end queues the node again. Nodes send facts all the time, so a caller that waits
for a whole fleet would never finish: a decision made after the caller began to wait is good enough, and the caller waits for each node
at most once. A caller does not wait for a node that cannot have a catalog yet, because it has sent no facts or because nothing is
deployed to its environment, nor for a node whose compile was given up.
"""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from datetime import datetime, timedelta

from precast.services.compile.inputs import NodeVersion, find_versions
from precast.services.facts.intake import FACTS
from precast.services.query.targets import TargetService
from precast.services.work_kinds import COMPILE, DECIDE, REDECIDE
from precast.store.catalogs.catalogs import Catalogs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.facts.views import find_digests
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import find_dead_keys, find_items
from precast.store.traces import Traces
from precast.wire.catalogs.bodies import ReadinessBody, ReadinessView

# Names of waiting nodes in the answer; their number is always complete.
NAMES_SHOWN = 100
# The clocks of two servers may differ by so much.
CLOCK_SKEW = timedelta(seconds=5)


class ReadinessService:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        fleet: Fleet,
        catalogs: Catalogs,
        environments: Environments,
        targets: TargetService,
        traces: Traces,
    ) -> None:
        self._database, self._fleet, self._catalogs = database, fleet, catalogs
        self._environments, self._targets, self._traces = environments, targets, traces

    async def check(self, body: ReadinessBody) -> ReadinessView:
        """How many of these nodes are ready. Raises what targets raise."""
        names = (await self._targets.resolve(body.nodes)).names
        return await self._database.read(self._check, names, body.asked_by or self._database.clock.now() + CLOCK_SKEW)

    def _check(self, names: Sequence[str], asked_by: datetime) -> Transaction[ReadinessView]:
        versions = yield from find_versions(self._fleet, self._environments, names)
        staged = yield from self._catalogs.staged.find(names)
        facts = yield from find_digests(names)
        now = self._database.clock.now()
        # A node whose facts wait in the inbox has sent facts.
        inbox = yield from find_items(FACTS.name, [name for name in names if name not in facts], now)
        asked = yield from find_items(DECIDE.name, names, now)
        compiling = yield from self._traces.find_branches(names)
        ready, broken = 0, 0
        left_out: Counter[str] = Counter()
        waiting: list[str] = []
        for name in names:
            current, staged_catalog = versions.get(name), staged.get(name)
            if current is None or current.version is None:
                left_out["nothing is deployed to its environment"] += 1
            elif name not in facts and not inbox.get(name):
                left_out["it has sent no facts"] += 1
            elif (
                staged_catalog is None
                or staged_catalog.version != current.version
                or (staged_catalog.decided_at <= asked_by and (asked.get(name) or name in compiling))
            ):
                waiting.append(name)
            elif staged_catalog.digest is None:
                broken += 1
            else:
                ready += 1
        given_up = yield from _find_given_up(waiting, versions, asked, compiling, now)
        if given_up:
            left_out["its compile was given up"] = len(given_up)
            waiting = [name for name in waiting if name not in given_up]
        return ReadinessView(asked_by, len(names), ready, broken, left_out, len(waiting), waiting[:NAMES_SHOWN])


def _find_given_up(
    waiting: Sequence[str],
    versions: Mapping[str, NodeVersion],
    asked: Container[str],
    compiling: Mapping[str, str],
    now: datetime,
) -> Transaction[set[str]]:
    """The nodes whose decision or compile was given up, unless it is requested again for the node or for its environment."""
    environments = {versions[name].environment for name in waiting}
    requested = yield from find_items(REDECIDE.name, sorted(environments), now)
    idle = [name for name in waiting if name not in asked and versions[name].environment not in requested]
    if not idle:
        return set()
    undecided = yield from find_dead_keys(DECIDE.name, idle)
    branches = {compiling[name] for name in idle if name in compiling}
    uncompiled = yield from find_dead_keys(COMPILE.name, sorted(branches))
    return {name for name in idle if name in undecided or compiling.get(name) in uncompiled}
