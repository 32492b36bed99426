"""Builds the services and APIs of environments, their content, the hooks that deploy them, and the content of tasks."""

from typing import NamedTuple

from precast.api.code.environments import EnvironmentsApi
from precast.api.code.hooks import HooksApi
from precast.api.plans.task_content import TaskContentApi
from precast.app.settings import ServerSettings
from precast.app.shared_services import build_audit_log
from precast.services.code.content import ContentService
from precast.services.code.environments import EnvironmentService
from precast.services.code.fetching import CodeFetcher, FetchLimits
from precast.services.code.hooks import HookService, load_hooks
from precast.services.code.signing import SigningService
from precast.services.plans.task_content import TaskContentService
from precast.services.work_kinds import DEPLOY, REDECIDE
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments
from precast.store.code.signing import EnvironmentSigning
from precast.store.engine.database import Database
from precast.store.jobs.attempts import Attempts
from precast.store.plans.task_content import TaskContents
from precast.store.queue.queue import WorkQueue


class EnvironmentComponents(NamedTuple):
    """The API that people deploy through, the API that forges call, and the service that carries out their calls."""

    api: EnvironmentsApi
    hooks_api: HooksApi
    hooks: HookService


def build_environment_components(database: Database, settings: ServerSettings) -> EnvironmentComponents:
    """Raises InputError ENV-024 if the hooks file is invalid: the server does not start rather than ignore hooks."""
    blobs, work, audit = Blobs(database), WorkQueue(database, [REDECIDE, DEPLOY]), build_audit_log(database)
    content = ContentService(database, blobs, settings.data)
    level = settings.confinement
    service = EnvironmentService(database, Environments(database), blobs, content, work, audit, level)
    configured = load_hooks(settings.hooks) if settings.hooks is not None else {}
    limits = FetchLimits(level=level)
    directories = tuple(map(str, settings.code_directories))
    fetcher = CodeFetcher(settings.data / "modules", directories, settings.code_hosts, limits)
    signing = SigningService(database, EnvironmentSigning(database), audit)
    hooks = HookService(database, configured, service, content, work, audit, settings.data, fetcher, signing)
    return EnvironmentComponents(EnvironmentsApi(database, service, content, signing), HooksApi(hooks), hooks)


def build_task_content_api(database: Database, settings: ServerSettings) -> TaskContentApi:
    blobs = Blobs(database)
    return TaskContentApi(
        TaskContentService(database, TaskContents(database), Attempts(database), blobs, settings.data), blobs
    )
