"""What nodes tell of their runs: taken in, looked at, told to others, forgotten."""

from typing import NamedTuple

from precast.api.reports import ReportsApi
from precast.api.webhook import post
from precast.cli.settings import ServerSettings
from precast.services.report_retention import ReportRetention
from precast.services.report_views import ReportViews
from precast.services.reports import ReportService
from precast.services.returners import ReturnerService, kind_of, load_returners
from precast.services.runs.results import StepResults
from precast.store.database import Database
from precast.store.report_partitions import ReportPartitions
from precast.store.report_views import ReportReader
from precast.store.reports import Reports
from precast.store.runs import Runs
from precast.store.work import WorkQueue


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
