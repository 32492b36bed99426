"""Whether nodes have what their newest code gives them: whoever has just deployed waits for that before a release.

A node is ready when it was decided upon with the version its environment has now, and nothing that was there when somebody began to
wait asks for it to be decided again: facts come all the time, and who waits for a whole fleet would never see an end. One that can
have no catalog yet, because it has sent no facts or because nothing is deployed to its environment, is not waited for, and neither is
one whose compile was given up.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from precast.services.compile_requests import CompileRequests
from precast.services.compiling.inputs import DEFAULT_ENVIRONMENT
from precast.services.facts import FACTS
from precast.services.targets import TargetService
from precast.services.work_kinds import DECIDE
from precast.store.catalogs import Catalogs
from precast.store.database import Database
from precast.store.environments import Environments
from precast.store.fact_views import reading_digests
from precast.store.fleet import Fleet
from precast.store.query import Unit
from precast.store.work import finding_due
from precast.wire.catalogs import ReadinessBody, ReadinessView

# Of so many that wait it is looked up what they wait for; how many wait is always said.
LOOKED_AT = 100
# By so much the clocks of two servers may differ.
CLOCKS = timedelta(seconds=5)


class ReadinessService:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        fleet: Fleet,
        catalogs: Catalogs,
        environments: Environments,
        targets: TargetService,
        requests: CompileRequests,
    ) -> None:
        self._database, self._fleet, self._catalogs = database, fleet, catalogs
        self._environments, self._targets, self._requests = environments, targets, requests

    async def look(self, body: ReadinessBody) -> ReadinessView:
        """How far these nodes are. Raises what targets raise."""
        names = (await self._targets.names(body.nodes)).names
        return await self._database.read(self._looking, names, body.asked_by or self._database.clock.now() + CLOCKS)

    def _looking(self, names: Sequence[str], asked_by: datetime) -> Unit[ReadinessView]:
        versions = yield from self._versions(names)
        staged = yield from self._catalogs.staged(names)
        facts = yield from reading_digests(names)
        now = self._database.clock.now()
        due = yield from finding_due(DECIDE.name, names, asked_by, now)
        # Facts that came and were not looked at yet are facts.
        due |= yield from finding_due(FACTS.name, [name for name in names if name not in facts], asked_by, now)
        ready, broken = 0, 0
        left_out: dict[str, str] = {}
        waiting: list[str] = []
        for name in names:
            version, found = versions.get(name), staged.get(name)
            if version is None:
                left_out[name] = "nothing is deployed to its environment"
            elif name not in facts and name not in due:
                left_out[name] = "it has sent no facts"
            elif found is None or found.version != version or name in due:
                waiting.append(name)
            elif found.digest is None:
                broken += 1
            else:
                ready += 1
        given_up = yield from self._given_up(waiting[:LOOKED_AT])
        left_out |= given_up
        waiting = [name for name in waiting if name not in given_up]
        return ReadinessView(asked_by, len(names), ready, broken, left_out, len(waiting), waiting[:LOOKED_AT])

    def _versions(self, names: Sequence[str]) -> Unit[dict[str, str | None]]:
        """The version that the environment of each active node has now."""
        current: dict[str, str | None] = {}
        found = {}
        for one in (yield from self._fleet.vouched(names)):
            environment = one.environment or DEFAULT_ENVIRONMENT
            if environment not in current:
                shown = yield from self._environments.showing(environment)
                current[environment] = shown.current.version if shown else None
            found[one.name] = current[environment]
        return found

    def _given_up(self, waiting: Sequence[str]) -> Unit[dict[str, str]]:
        found = {}
        for name in waiting:
            progress = yield from self._requests.looking(name)
            if progress.state == "given up":
                found[name] = f"its compile was given up: {progress.error}"
        return found
