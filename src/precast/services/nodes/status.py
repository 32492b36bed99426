"""The state of a site at a glance, with remarks on what needs attention. Quick: counts, no lists."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from precast import __version__
from precast.store.engine import health
from precast.store.engine.database import Database
from precast.store.nodes.classification import Classifications
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import WorkQueue
from precast.store.schema.check import ping
from precast.store.schema.schema import Schema
from precast.store.sessions.sessions import Server, Sessions
from precast.wire.nodes.presence import ServerRow
from precast.wire.nodes.status import DatabaseStatus, DiskStatus, QueueStatus, Remark, StatusView

LOW_DISK = 0.10
NO_DISK = 0.02
LONG_WAIT = timedelta(minutes=10)
SOON = timedelta(days=60)
SLOW_ANSWER_S = 0.5
FAR_BEHIND_S = 60.0


class Place(NamedTuple):
    """What this server knows of itself."""

    data: Path
    started_at: datetime
    authority_until: Callable[[], datetime]  # it may be rotated while we run


class StatusService:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        fleet: Fleet,
        sessions: Sessions,
        work: WorkQueue,
        said: Classifications,
        place: Place,
    ) -> None:
        self._database = database
        self._fleet = fleet
        self._sessions = sessions
        self._work = work
        self._said = said
        self._place = place

    async def show(self) -> StatusView:
        """Raises UnavailableError if the database does not answer."""
        now = self._database.clock.now()
        servers = [one for one in await self._sessions.servers() if one.lease_until > now]
        disk = await asyncio.to_thread(_disk, self._place.data)
        view = StatusView(
            version=__version__,
            started_at=self._place.started_at,
            now=now,
            database=await self._look_at_database(),
            nodes=_by_state(await self._fleet.counts(), servers),
            servers=[msgspec.convert(one, ServerRow, from_attributes=True) for one in servers],
            queues=[msgspec.convert(one, QueueStatus, from_attributes=True) for one in await self._work.counts()],
            authority_until=self._place.authority_until(),
            disk=disk,
            unanswered=await self._database.read(self._said.problems),
            remarks=[],
        )
        return msgspec.structs.replace(view, remarks=list(remarks(view)))

    async def _look_at_database(self) -> DatabaseStatus:
        started_s = self._database.clock.monotonic_s()
        await ping(self._database)
        answer_s = self._database.clock.monotonic_s() - started_s
        applied = await Schema(self._database).applied()
        copies = await health.replicas(self._database)
        return DatabaseStatus(
            kind=self._database.dialect.value,
            location=self._database.location,
            schema=applied[-1].number,
            answer_s=round(answer_s, 6),
            replicas=copies.number,
            behind_s=copies.behind_s,
        )


def remarks(view: StatusView) -> Iterator[Remark]:
    """What needs attention, the worst first of each subject."""
    yield from _on_disk(view.disk)
    if view.authority_until - view.now < SOON:
        level = "broken" if view.authority_until <= view.now else "warning"
        text = f"the authority's certificate ends {view.authority_until:%Y-%m-%d %H:%M:%SZ}"
        yield Remark(level, text, "put another in its place: `precast ca rotate`")
    for queue in view.queues:
        if queue.dead:
            yield Remark("warning", f"{queue.dead} dead letters of {queue.kind}", "`precast db work --dead` shows them")
        if queue.oldest_at is not None and view.now - queue.oldest_at > LONG_WAIT:
            minutes = (view.now - queue.oldest_at).total_seconds() / 60
            yield Remark(
                "warning", f"{queue.kind} waits for {minutes:.0f} minutes", "`precast db work --items` shows what waits"
            )
    if view.unanswered:
        text = f"the external classifier could not be asked about {view.unanswered} nodes; its last answers hold"
        yield Remark("warning", text, "`precast node show NODE` says why")
    if view.database.answer_s > SLOW_ANSWER_S:
        yield Remark(
            "warning", f"the database took {view.database.answer_s:.1f} s to answer", "look at its load and its disk"
        )
    if view.database.behind_s is not None and view.database.behind_s > FAR_BEHIND_S:
        yield Remark("warning", f"a replica is {view.database.behind_s:.0f} s behind", "look at it before it is needed")


def _on_disk(disk: DiskStatus) -> Iterator[Remark]:
    share = disk.free_bytes / disk.size_bytes
    if share < LOW_DISK:
        level = "broken" if share < NO_DISK else "warning"
        yield Remark(level, f"{disk.path} has {share:.0%} left", "make room, or move the data to a larger disk")


def _disk(place: Path) -> DiskStatus:
    usage = shutil.disk_usage(place)
    return DiskStatus(str(place), usage.free, usage.total)


def _by_state(counts: dict[str, int], servers: list[Server]) -> dict[str, int]:
    """A connection counts for as long as its server's lease does."""
    active = counts.get("active", 0)
    connected = min(active, sum(server.connections for server in servers))
    return {
        "connected": connected,
        "away": active - connected,
        **{state: counts.get(state, 0) for state in ("expired", "revoked", "deactivated")},
    }
