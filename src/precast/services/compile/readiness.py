"""Whether nodes have what their newest code gives them: whoever has just deployed waits for that before a release.

A node is ready when it was decided upon with the version its environment has now, and nothing asks for it to be decided again: neither
the queue, nor a compile that it waits for, whose end puts it into the queue anew. Facts come all the time, and who waits for a whole
fleet would never see an end: so what was decided after somebody began to wait is good enough for them, and they wait for each node
once at most. One that can have no catalog yet, because it has sent no facts or because nothing is deployed to its environment, is not
waited for, and neither is one whose compile was given up.
"""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from precast.services.compile.inputs import DEFAULT_ENVIRONMENT
from precast.services.facts.facts import FACTS
from precast.services.query.targets import TargetService
from precast.services.work_kinds import COMPILE, DECIDE, REDECIDE
from precast.store.catalogs import Catalogs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.facts.views import reading_digests
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import finding_among, finding_dead_among
from precast.store.traces import Traces
from precast.wire.catalogs.bodies import ReadinessBody, ReadinessView

# Names of nodes that are waited for; how many it is is always said.
NAMES_SHOWN = 100
# By so much the clocks of two servers may differ.
CLOCKS = timedelta(seconds=5)


class _Place(NamedTuple):
    """Where a node belongs, and the version that is there now."""

    environment: str
    version: str | None


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

    async def look(self, body: ReadinessBody) -> ReadinessView:
        """How far these nodes are. Raises what targets raise."""
        names = (await self._targets.names(body.nodes)).names
        return await self._database.read(self._looking, names, body.asked_by or self._database.clock.now() + CLOCKS)

    def _looking(self, names: Sequence[str], asked_by: datetime) -> Transaction[ReadinessView]:
        places = yield from self._places(names)
        staged = yield from self._catalogs.staged(names)
        facts = yield from reading_digests(names)
        now = self._database.clock.now()
        # Facts that came and were not looked at yet are facts.
        inbox = yield from finding_among(FACTS.name, [name for name in names if name not in facts], now)
        asked = yield from finding_among(DECIDE.name, names, now)
        compiling = yield from self._traces.waiting_among(names)
        ready, broken = 0, 0
        left_out: Counter[str] = Counter()
        waiting: list[str] = []
        for name in names:
            place, found = places.get(name), staged.get(name)
            if place is None or place.version is None:
                left_out["nothing is deployed to its environment"] += 1
            elif name not in facts and not inbox.get(name):
                left_out["it has sent no facts"] += 1
            elif (
                found is None
                or found.version != place.version
                or (found.decided_at <= asked_by and (asked.get(name) or name in compiling))
            ):
                waiting.append(name)
            elif found.digest is None:
                broken += 1
            else:
                ready += 1
        given_up = yield from _given_up(waiting, places, asked, compiling, now)
        if given_up:
            left_out["its compile was given up"] = len(given_up)
            waiting = [name for name in waiting if name not in given_up]
        return ReadinessView(asked_by, len(names), ready, broken, left_out, len(waiting), waiting[:NAMES_SHOWN])

    def _places(self, names: Sequence[str]) -> Transaction[dict[str, _Place]]:
        """Of each active node."""
        vouched = yield from self._fleet.vouched(names)
        environments = {one.name: one.environment or DEFAULT_ENVIRONMENT for one in vouched}
        versions = yield from self._environments.current_versions(environments.values())
        return {name: _Place(environment, versions[environment]) for name, environment in environments.items()}


def _given_up(
    waiting: Sequence[str],
    places: Mapping[str, _Place],
    asked: Container[str],
    compiling: Mapping[str, str],
    now: datetime,
) -> Transaction[set[str]]:
    """Those whose decision or compile was given up, if nothing asks for it anew, be it for the node or for its environment."""
    environments = {places[name].environment for name in waiting}
    spreading = yield from finding_among(REDECIDE.name, sorted(environments), now)
    quiet = [name for name in waiting if name not in asked and places[name].environment not in spreading]
    if not quiet:
        return set()
    undecided = yield from finding_dead_among(DECIDE.name, quiet)
    branches = {compiling[name] for name in quiet if name in compiling}
    uncompiled = yield from finding_dead_among(COMPILE.name, sorted(branches))
    return {name for name in quiet if name in undecided or compiling.get(name) in uncompiled}
