"""Environments and their content, and the hooks that deploy them."""

from typing import NamedTuple

from precast.api.code.environments import EnvironmentsApi
from precast.api.code.hooks import HooksApi
from precast.app.parts import audit_log
from precast.app.settings import ServerSettings
from precast.services.code.content import ContentService
from precast.services.code.environments import EnvironmentService
from precast.services.code.hooks import HookService, load_hooks
from precast.services.work_kinds import DEPLOY, REDECIDE
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.queue.queue import WorkQueue


class EnvironmentRoom(NamedTuple):
    """What people deploy by, what hooks call, and what does what they have called for."""

    api: EnvironmentsApi
    hooks_api: HooksApi
    hooks: HookService


def environment_room(database: Database, settings: ServerSettings) -> EnvironmentRoom:
    """Raises InputError ENV-024 for hooks that cannot be used: a server that would ignore them does not start."""
    blobs, work, audit = Blobs(database), WorkQueue(database, [REDECIDE, DEPLOY]), audit_log(database)
    content = ContentService(database, blobs, settings.data)
    service = EnvironmentService(database, Environments(database), blobs, content, work, audit)
    configured = load_hooks(settings.hooks) if settings.hooks is not None else {}
    hooks = HookService(database, configured, service, content, work, audit, settings.data)
    return EnvironmentRoom(EnvironmentsApi(database, service, content), HooksApi(hooks), hooks)
