"""What nodes tell of their runs: taken in, looked at, told to others, forgotten."""

from typing import NamedTuple

from precast.api.http.webhook import post
from precast.api.reports import ReportsApi
from precast.app.settings import ServerSettings
from precast.services.jobs.results import StepResults
from precast.services.reports.reports import ReportService
from precast.services.reports.retention import ReportRetention
from precast.services.reports.returners import ReturnerService, kind_of, load_returners
from precast.services.reports.views import ReportViews
from precast.store.engine.database import Database
from precast.store.jobs.runs import Runs
from precast.store.queue.queue import WorkQueue
from precast.store.reports.partitions import ReportPartitions
from precast.store.reports.reports import Reports
from precast.store.reports.views import ReportReader


class ReportRoom(NamedTuple):
    """Who takes reports in, and who shows them."""

    service: ReportService
    api: ReportsApi


def report_room(database: Database, settings: ServerSettings) -> ReportRoom:
    returners, _ = returner_service(database, settings)
    following = [StepResults(Runs(database)).following]
    return ReportRoom(
        ReportService(database, Reports(database), [returners.hearing], following),
        ReportsApi(ReportViews(database, ReportReader(database))),
    )


def returner_service(database: Database, settings: ServerSettings) -> tuple[ReturnerService, list[str]]:
    """Who tells others of reports, and to whom. Raises InputError REPORT-004: a server that would tell nobody does not start."""
    found = {} if settings.returners is None else load_returners(settings.returners)
    work = WorkQueue(database, [kind_of(name) for name in found])
    service = ReturnerService(database, ReportViews(database, ReportReader(database)), work, found, post)
    return service, list(found)


def report_retention(database: Database, settings: ServerSettings) -> ReportRetention:
    return ReportRetention(database, Reports(database), ReportPartitions(database), settings.report_retention)
