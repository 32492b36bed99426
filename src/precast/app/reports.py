"""Builds the services of reports: intake, views, returners and retention."""

from typing import NamedTuple

from precast.api.http.webhook import post
from precast.api.reports import ReportsApi
from precast.app.jobs import build_attempt_results
from precast.app.settings import ServerSettings
from precast.services.clocks.guard import ClockGuard
from precast.services.reports.reports import ReportService
from precast.services.reports.retention import ReportRetention
from precast.services.reports.returned_attempts import ReturnedAttempts
from precast.services.reports.returners import ReturnerService, kind_of, load_returners
from precast.services.reports.views import ReportViews
from precast.store.engine.database import Database
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.jobs import Jobs
from precast.store.queue.queue import WorkQueue
from precast.store.reports.partitions import ReportPartitions
from precast.store.reports.reports import Reports
from precast.store.reports.views import ReportReader


class ReportComponents(NamedTuple):
    """The service that stores reports, and the API that shows them."""

    service: ReportService
    api: ReportsApi


def build_report_components(database: Database, settings: ServerSettings) -> ReportComponents:
    returners, _ = build_returner_service(database, settings)
    on_ordered = [build_attempt_results(database).update_from_reports]
    return ReportComponents(
        ReportService(database, Reports(database), [returners.enqueue_reports], on_ordered),
        ReportsApi(ReportViews(database, ReportReader(database))),
    )


def build_returner_service(database: Database, settings: ServerSettings) -> tuple[ReturnerService, list[str]]:
    """The service that sends reports to returners, and the names of these.

    Raises InputError REPORT-004 if the returners file is invalid: the server does not start rather than send nothing.
    """
    configured = {} if settings.returners is None else load_returners(settings.returners)
    work = WorkQueue(database, [kind_of(name) for name in configured])
    views, attempts = ReportViews(database, ReportReader(database)), Attempts(database)
    returned = ReturnedAttempts(database, Jobs(database), attempts)
    service = ReturnerService(database, views, returned, work, configured, post)
    return service, list(configured)


def build_report_retention(database: Database, settings: ServerSettings, guard: ClockGuard) -> ReportRetention:
    return ReportRetention(database, Reports(database), ReportPartitions(database), guard, settings.report_retention)
