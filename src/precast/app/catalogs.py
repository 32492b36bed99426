"""Catalogs as people and nodes meet them: looked at, released, fetched, searched, traced to their source."""

from precast.api.catalogs import CatalogsApi
from precast.api.origins import OriginsApi
from precast.api.queries import QueriesApi
from precast.app.parts import audit_log, target_service
from precast.services.catalog_troubles import CatalogTroubles
from precast.services.catalog_views import CatalogViews
from precast.services.compile_requests import CompileRequests
from precast.services.compiling.inputs import NodeInputs
from precast.services.compiling.trees import Versions
from precast.services.origins import OriginService
from precast.services.querying.indexing import Indexing
from precast.services.querying.reports import ReportSearch
from precast.services.querying.resources import ResourceSearch
from precast.services.querying.service import QueryService
from precast.services.readiness import ReadinessService
from precast.services.releases import ReleaseService
from precast.services.work_kinds import DECIDE
from precast.store.blobs import Blobs
from precast.store.catalog_index import CatalogIndex
from precast.store.catalogs import Catalogs
from precast.store.database import Database
from precast.store.environments import Environments
from precast.store.facts import Facts
from precast.store.fleet import Fleet
from precast.store.report_views import ReportReader
from precast.store.traces import Traces
from precast.store.work import WorkQueue


def catalogs_api(database: Database) -> CatalogsApi:
    catalogs, blobs, traces = Catalogs(database), Blobs(database), Traces(database)
    audit, targets, fleet = audit_log(database), target_service(database), Fleet(database)
    releases = ReleaseService(database, catalogs, blobs, targets, audit)
    work, environments = WorkQueue(database, [DECIDE]), Environments(database)
    views = CatalogViews(database, catalogs, traces, environments)
    troubles = CatalogTroubles(database, catalogs, traces, Facts(database), work)
    requests = CompileRequests(database, catalogs, traces, NodeInputs(fleet, environments), work, audit)
    readiness = ReadinessService(database, fleet, catalogs, environments, targets, traces)
    return CatalogsApi(views, troubles, requests, releases, readiness, blobs)


def origins_api(database: Database) -> OriginsApi:
    stores = Catalogs(database), Traces(database), Environments(database)
    return OriginsApi(OriginService(database, *stores, Versions(Blobs(database))))


def queries_api(database: Database) -> QueriesApi:
    search = ResourceSearch(database, CatalogIndex(database))
    reports = ReportSearch(database, ReportReader(database))
    return QueriesApi(QueryService(database, target_service(database), search, Catalogs(database), reports))


def catalog_indexing(database: Database) -> Indexing:
    return Indexing(database, Catalogs(database), CatalogIndex(database))
