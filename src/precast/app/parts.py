"""What most rooms need: the audit log, the sets of nodes that people name, and the word for what a server keeps doing."""

from collections.abc import Callable, Coroutine
from typing import Any

from precast.app.settings import ServerSettings
from precast.app.supervision import Worker
from precast.base.ids import TimeOrderedIds
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.sessions.server_presence import ServerPresence, quiet_name
from precast.store.engine.database import Database
from precast.store.identity.audit import AuditLog
from precast.store.nodes.nodes import Fleet
from precast.store.sessions.sessions import Sessions

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
