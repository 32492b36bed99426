"""The status of a site, with its problems. It reads counts, not lists, so it is quick."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from precast import __version__
from precast.base.errors import PrecastError
from precast.services.clocks.judgement import TRUSTED, Judgement
from precast.services.nodes.problems import FAILING_SHOWN, find_problems
from precast.store.catalogs.staged import StagedCatalogs
from precast.store.engine import health
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.exports.rounds import count_stopped
from precast.store.nodes.classification import Classifications
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import WorkQueue
from precast.store.reports.views import list_failing
from precast.store.schema.check import ping
from precast.store.schema.schema import Schema
from precast.store.secrets.source_documents import count_failed_documents
from precast.store.sessions.sessions import Server, Sessions
from precast.wire.nodes.presence import ServerRow
from precast.wire.nodes.status import ClockTrouble, DatabaseStatus, DiskStatus, QueueStatus, StatusView

# Nodes on hold that a status names; there are more if it names as many.
HELD_SHOWN = 20
# How long the signer may take to answer.
SIGNER_S = 5.0


class ServerInfo(NamedTuple):
    """What this server knows about itself."""

    data: Path
    started_at: datetime
    authority_until: Callable[[], datetime]  # the authority may be rotated while the server runs
    ask_signer: Callable[[], Awaitable[object]]
    judge_clock: Callable[[], Judgement] = lambda: TRUSTED


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
        code_errors, flawed_catalogs = await self._database.read(StagedCatalogs().count_flawed)
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
            failing=await self._database.read(self._list_failing),
            signer_trouble=await self._ask_signer(),
            held=await self._database.read(self._sessions.list_held, HELD_SHOWN),
            code_errors=code_errors,
            flawed_catalogs=flawed_catalogs,
            export_loops=await self._database.read(count_stopped),
            unread_source_documents=await self._database.read(count_failed_documents),
            clock=_clock(self._server.judge_clock()),
            problems=[],
        )
        return msgspec.structs.replace(view, problems=list(find_problems(view)))

    def _list_failing(self) -> Transaction[list[str]]:
        names = yield from list_failing(FAILING_SHOWN)
        active = yield from self._fleet.filter_known(names, False)
        return [name for name in names if name in active]

    async def _ask_signer(self) -> str:
        """Why the signer does not answer; empty if it does."""
        try:
            async with asyncio.timeout(SIGNER_S):
                await self._server.ask_signer()
        except TimeoutError:
            return f"it has not answered within {SIGNER_S:g} s"
        except PrecastError as error:
            return error.message
        return ""

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


def _clock(judgement: Judgement) -> ClockTrouble | None:
    return None if judgement.is_trusted else ClockTrouble(judgement.why, judgement.hint)


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
