"""The role scheduler: periodic work, actions, and the work that hooks, returners and jobs have queued."""

from functools import partial

from precast.app.classification import build_classification
from precast.app.environments import build_environment_components
from precast.app.jobs import build_action_scheduler, build_job_driver, build_reconciler
from precast.app.plans import build_plan_actions, build_plan_work, list_plan_parts
from precast.app.reports import build_report_retention, build_returner_service
from precast.app.settings import ServerSettings
from precast.app.shared_services import BackgroundTask
from precast.services.catalogs.pruning import CatalogPruner, Retention
from precast.services.clocks.guard import ClockGuard
from precast.services.code.content_collection import ContentCollector
from precast.services.facts.retention import FactRetention
from precast.services.futures.retention import FutureRetention
from precast.services.jobs.flow.intake_lag import IntakeLag
from precast.services.jobs.requests import PLAN
from precast.services.plans.retention import PlanDataRetention
from precast.store.catalogs.catalogs import Catalogs
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.store.futures import job_promises, waits
from precast.store.plans.runs import PlanRuns
from precast.store.secrets.secrets import Secrets
from precast.store.traces import Traces


def scheduler_tasks(
    database: Database, settings: ServerSettings, server_id: str, guard: ClockGuard, lag: IntakeLag | None
) -> list[BackgroundTask]:
    """The background tasks of the role. `lag` is that of a process to which nodes connect.

    Raises InputError ENV-024 or REPORT-004 if hooks or returners are invalid.
    """
    classification, environments = (
        build_classification(database, settings),
        build_environment_components(database, settings),
    )
    tasks = [
        FactRetention(Facts(database), guard).run,
        build_report_retention(database, settings, guard).run,
        ContentCollector(database, Blobs(database), Environments(database), guard).run,
        _build_pruner(database, settings, guard).run,
        FutureRetention(database, guard).run,
        PlanDataRetention(database, PlanRuns(database), guard).run,
        lambda: classification.rules.run(server_id),
    ]
    returners, names = build_returner_service(database, settings)
    tasks += [partial(returners.run, name, server_id) for name in names]
    works = {PLAN: build_plan_work(database)}
    parts = [*list_plan_parts(database), job_promises.delete_of_job, waits.delete_of_job]
    driver = build_job_driver(
        *(database, guard, lag or IntakeLag(database.clock.monotonic_s)),
        *(works, parts, [returners.enqueue_attempts]),
    )
    tasks.append(lambda: driver.run(server_id))
    tasks.append(build_reconciler(database).run)
    tasks.append(lambda: build_action_scheduler(database, guard, build_plan_actions(database, settings)).run())
    if settings.hooks is not None:
        tasks.append(lambda: environments.hooks.run(server_id))
    if (enc := classification.enc) is not None:
        tasks.append(lambda: enc.run(server_id))
    return tasks


def _build_pruner(database: Database, settings: ServerSettings, guard: ClockGuard) -> CatalogPruner:
    retention = Retention(settings.keep_traces, settings.keep_releases)
    stores = Traces(database), Catalogs(database), Blobs(database), Secrets(database)
    return CatalogPruner(database, *stores, guard, retention)
