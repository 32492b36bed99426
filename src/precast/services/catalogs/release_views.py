"""Shows the log of releases over the fleet, and the releases of one node with their states."""

import msgspec

from precast.services.catalogs import issues
from precast.services.catalogs.release_lines import states_of
from precast.services.issues import NO_SUCH_NODE
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.release_log import RELEASE, ROLLBACK, LogEntry
from precast.store.engine.database import Database
from precast.store.nodes.nodes import Fleet
from precast.wire.catalogs.bodies import CodeView, NodeReleaseView, ReleaseView
from precast.wire.identity.names import is_name
from precast.wire.nodes.bodies import TargetsBody

LISTED = 100
# Releases of one node; more are kept only where `keep_releases` says so.
NODE_LISTED = 1000
NEWEST = 2**62


class ReleaseViews:
    """Holds no state between calls."""

    def __init__(self, database: Database, catalogs: Catalogs, fleet: Fleet) -> None:
        self._database, self._catalogs, self._fleet = database, catalogs, fleet

    async def list_releases(self, before: int | None) -> list[ReleaseView]:
        """A page of the releases and rollbacks below a number, the newest first."""
        entries = await self._database.read(self._catalogs.log.list_entries, before or NEWEST, LISTED)
        return [_view(entry) for entry in entries]

    async def show(self, number: int) -> ReleaseView:
        """Raises NotFoundError RELEASE-005."""
        entry = await self._database.read(self._catalogs.log.find, number)
        if entry is None:
            raise issues.NO_SUCH_RELEASE.error(number=number)
        return _view(entry)

    async def list_of_node(self, node: str) -> list[NodeReleaseView]:
        """The releases of a node, the newest first. Raises NotFoundError NODE-001."""
        if not is_name(node) or await self._database.read(self._fleet.find, node) is None:
            raise NO_SUCH_NODE.error(node=node[:80])
        history = await self._database.read(self._catalogs.released.list_history, node, NODE_LISTED)
        states = states_of(history)
        return [
            NodeReleaseView(
                step.release,
                RELEASE if step.number in states else ROLLBACK,
                states.get(step.number, ""),
                step.released_at,
                step.released_by,
                step.environment,
                step.version,
                step.commit,
                step.digest,
                None if step.number in states else step.origin_release,
            )
            for step in history
        ]


def _view(entry: LogEntry) -> ReleaseView:
    return ReleaseView(
        entry.number,
        entry.kind,
        entry.began_at,
        entry.finished_at,
        entry.actor,
        entry.why,
        msgspec.json.decode(entry.targets, type=TargetsBody),
        entry.point,
        entry.request,
        entry.nodes,
        [CodeView(*code) for code in entry.versions],
    )
