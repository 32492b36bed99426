"""Builds the services that most modules of this package need: the audit log and the resolution of targets."""

from collections.abc import Callable, Coroutine
from typing import Any

from precast.app.settings import ServerSettings
from precast.app.supervision import Worker
from precast.base.clock import SystemClock
from precast.base.ids import TimeOrderedIds
from precast.services.clocks.guard import ClockGuard, read_boot_id
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.sessions.server_presence import NoSessions, ServerPresence, worker_server_name
from precast.store.engine import location, postgres_tls
from precast.store.engine.database import Database
from precast.store.identity.audit import AuditLog
from precast.store.nodes.nodes import Fleet
from precast.store.sessions.sessions import Sessions

# A task that runs for as long as the server does.
BackgroundTask = Callable[[], Coroutine[Any, Any, None]]


def build_clock_guard(database: Database, settings: ServerSettings) -> ClockGuard:
    """The guard of the clock: with PostgreSQL it compares the database's clock with this machine's."""
    where = location.parse(settings.location)
    if isinstance(where, location.SqliteLocation):
        return ClockGuard(database, read_boot_id())
    return ClockGuard(database, read_boot_id(), SystemClock(), is_remote=not postgres_tls.is_local(where))


def build_audit_log(database: Database) -> AuditLog:
    return AuditLog(database, TimeOrderedIds(database.clock))


def build_quiet_presence(
    database: Database, settings: ServerSettings, worker: Worker | None, server_id: str
) -> ServerPresence:
    """The presence of a server without the role api, to which no node connects."""
    name = worker_server_name(settings.roles, None if worker is None else worker.number)
    return ServerPresence(Sessions(database), server_id, NoSessions(name))


def build_known_nodes(database: Database) -> KnownNodes:
    return KnownNodes(database, Fleet(database), Sessions(database))


def build_target_service(database: Database) -> TargetService:
    return TargetService(build_known_nodes(database), database.clock)
