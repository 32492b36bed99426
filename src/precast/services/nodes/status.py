"""The status of a site, with remarks on what needs attention. It reads counts, not lists, so it is quick."""

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

LOW_DISK_SHARE = 0.10
FULL_DISK_SHARE = 0.02
LONG_WAIT = timedelta(minutes=10)
AUTHORITY_WARNING = timedelta(days=60)
SLOW_ANSWER_S = 0.5
FAR_BEHIND_S = 60.0


class ServerInfo(NamedTuple):
    """What this server knows about itself."""

    data: Path
    started_at: datetime
    authority_until: Callable[[], datetime]  # the authority may be rotated while the server runs


class StatusService:
    """Builds the status view; holds no state between calls."""

    def __init__(
        self,
        database: Database,
        fleet: Fleet,
        sessions: Sessions,
        work: WorkQueue,
        sources: Classifications,
        server: ServerInfo,
    ) -> None:
        self._database = database
        self._fleet = fleet
        self._sessions = sessions
        self._work = work
        self._sources = sources
        self._server = server

    async def show(self) -> StatusView:
        """Build the status view. Raises UnavailableError if the database does not answer."""
        now = self._database.clock.now()
        servers = [server for server in await self._sessions.list_servers() if server.lease_until > now]
        disk = await asyncio.to_thread(_disk, self._server.data)
        view = StatusView(
            version=__version__,
            started_at=self._server.started_at,
            now=now,
            database=await self._check_database(),
            nodes=_by_state(await self._fleet.count_by_state(), servers),
            servers=[msgspec.convert(server, ServerRow, from_attributes=True) for server in servers],
            queues=[
                msgspec.convert(queue, QueueStatus, from_attributes=True) for queue in await self._work.count_by_kind()
            ],
            authority_until=self._server.authority_until(),
            disk=disk,
            unanswered=await self._database.read(self._sources.count_problems),
            remarks=[],
        )
        return msgspec.structs.replace(view, remarks=list(remarks(view)))

    async def _check_database(self) -> DatabaseStatus:
        started_s = self._database.clock.monotonic_s()
        await ping(self._database)
        answer_s = self._database.clock.monotonic_s() - started_s
        applied = await Schema(self._database).list_applied()
        copies = await health.read_replicas(self._database)
        return DatabaseStatus(
            kind=self._database.dialect.value,
            location=self._database.location,
            schema=applied[-1].number,
            answer_s=round(answer_s, 6),
            replicas=copies.number,
            behind_s=copies.behind_s,
        )


def remarks(view: StatusView) -> Iterator[Remark]:
    """Yield what needs attention, the worst of each subject first."""
    yield from _disk_remarks(view.disk)
    if view.authority_until - view.now < AUTHORITY_WARNING:
        level = "broken" if view.authority_until <= view.now else "warning"
        text = f"the authority's certificate expires {view.authority_until:%Y-%m-%d %H:%M:%SZ}"
        yield Remark(level, text, "replace it with `precast ca rotate`")
    for queue in view.queues:
        if queue.dead:
            yield Remark("warning", f"{queue.dead} dead letters of {queue.kind}", "`precast db work --dead` shows them")
        if queue.oldest_at is not None and view.now - queue.oldest_at > LONG_WAIT:
            minutes = (view.now - queue.oldest_at).total_seconds() / 60
            yield Remark(
                "warning",
                f"the oldest item of {queue.kind} has waited for {minutes:.0f} minutes",
                "`precast db work --items` shows the waiting items",
            )
    if view.unanswered:
        text = f"the external node classifier failed for {view.unanswered} nodes; its last answers stay in effect"
        yield Remark("warning", text, "`precast node show NODE` shows the reason")
    if view.database.answer_s > SLOW_ANSWER_S:
        yield Remark(
            "warning", f"the database took {view.database.answer_s:.1f} s to answer", "check its load and its disk"
        )
    if view.database.behind_s is not None and view.database.behind_s > FAR_BEHIND_S:
        yield Remark(
            "warning", f"a replica is {view.database.behind_s:.0f} s behind", "check the replica before you need it"
        )


def _disk_remarks(disk: DiskStatus) -> Iterator[Remark]:
    share = disk.free_bytes / disk.size_bytes
    if share < LOW_DISK_SHARE:
        level = "broken" if share < FULL_DISK_SHARE else "warning"
        yield Remark(level, f"{disk.path} has {share:.0%} free space", "free some, or move the data to a larger disk")


def _disk(place: Path) -> DiskStatus:
    usage = shutil.disk_usage(place)
    return DiskStatus(str(place), usage.free, usage.total)


def _by_state(counts: dict[str, int], servers: list[Server]) -> dict[str, int]:
    """Count nodes by state. A connection counts as long as the lease of its server lasts."""
    active = counts.get("active", 0)
    connected = min(active, sum(server.connections for server in servers))
    return {
        "connected": connected,
        "away": active - connected,
        **{state: counts.get(state, 0) for state in ("expired", "revoked", "deactivated")},
    }
