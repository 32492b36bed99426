"""What most rooms need: the audit log, the sets of nodes that people name, and the word for what a server keeps doing."""

from collections.abc import Callable, Coroutine
from typing import Any

from precast.base.ids import TimeOrderedIds
from precast.cli.settings import ServerSettings
from precast.cli.workers import Worker
from precast.services.known_nodes import KnownNodes
from precast.services.server_presence import ServerPresence, quiet_name
from precast.services.targets import TargetService
from precast.store.audit import AuditLog
from precast.store.database import Database
from precast.store.fleet import Fleet
from precast.store.sessions import Sessions

# What a server does for as long as it runs.
Part = Callable[[], Coroutine[Any, Any, None]]


def audit_log(database: Database) -> AuditLog:
    return AuditLog(database, TimeOrderedIds(database.clock))


def quiet_presence(
    database: Database, settings: ServerSettings, worker: Worker | None, server_id: str
) -> ServerPresence:
    """How a server says that it is there without nodes."""
    name = quiet_name(settings.roles, None if worker is None else worker.number)
    return ServerPresence(Sessions(database), server_id, name)


def known_nodes(database: Database) -> KnownNodes:
    return KnownNodes(database, Fleet(database), Sessions(database))


def target_service(database: Database) -> TargetService:
    return TargetService(known_nodes(database), database.clock)
