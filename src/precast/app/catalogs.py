"""Catalogs as people and nodes meet them: looked at, released, fetched, searched, traced to their source."""

from precast.api.catalogs.catalogs import CatalogsApi
from precast.api.catalogs.origins import OriginsApi
from precast.api.query import QueriesApi
from precast.app.parts import audit_log, target_service
from precast.services.catalogs.origins import OriginService
from precast.services.catalogs.releases import ReleaseService
from precast.services.catalogs.troubles import CatalogTroubles
from precast.services.catalogs.views import CatalogViews
from precast.services.compile.inputs import NodeInputs
from precast.services.compile.readiness import ReadinessService
from precast.services.compile.requests import CompileRequests
from precast.services.query.indexing import Indexing
from precast.services.query.reports import ReportSearch
from precast.services.query.resources import ResourceSearch
from precast.services.query.service import QueryService
from precast.services.traces.versions import Versions
from precast.services.work_kinds import DECIDE
from precast.store.catalogs import Catalogs
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.store.nodes.nodes import Fleet
from precast.store.query.resource_index import CatalogIndex
from precast.store.queue.queue import WorkQueue
from precast.store.reports.views import ReportReader
from precast.store.traces import Traces


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
