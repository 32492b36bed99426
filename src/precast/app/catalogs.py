"""Builds the APIs of catalogs: views, releases, downloads, queries over resources, and their origin in the code."""

from precast.api.approvals import ApprovalsApi
from precast.api.catalogs.catalogs import CatalogsApi
from precast.api.catalogs.origins import OriginsApi
from precast.api.catalogs.releases import ReleasesApi
from precast.api.query import QueriesApi
from precast.app.exports import build_export_publisher
from precast.app.jobs import build_approved_actions
from precast.app.secrets.keyring import build_secret_values
from precast.app.server_facts import read_server_facts
from precast.app.settings import ServerSettings
from precast.app.shared_services import build_audit_log, build_target_service
from precast.base.ids import TimeOrderedIds
from precast.services.actions.approved_actions import ACTION
from precast.services.approvals.approvals import ApprovalService, ApprovedAction, RequestBook
from precast.services.catalogs.approved_releases import RELEASE, ApprovedReleases
from precast.services.catalogs.downloads import CatalogDownloads
from precast.services.catalogs.origins import OriginService
from precast.services.catalogs.previews import ReleasePreviews
from precast.services.catalogs.problems import CatalogProblems
from precast.services.catalogs.release_pointer import ReleasePointers
from precast.services.catalogs.release_service import ReleaseService
from precast.services.catalogs.release_views import ReleaseViews
from precast.services.catalogs.releases import Releases
from precast.services.catalogs.skeletons import Skeletons
from precast.services.catalogs.views import CatalogViews
from precast.services.compile.input_views import CompileInputViews
from precast.services.compile.inputs import NodeInputs
from precast.services.compile.readiness import ReadinessService
from precast.services.compile.requests import CompileRequests
from precast.services.identity.signer.client import SignerClient
from precast.services.query.queries import QueryService
from precast.services.query.report_search import ReportSearch
from precast.services.query.resource_indexer import ResourceIndexer
from precast.services.query.resource_search import ResourceSearch
from precast.services.secrets.keyring import Keyring
from precast.services.traces.versions import Versions
from precast.services.work_kinds import DECIDE
from precast.store.approvals.approvals import Approvals
from precast.store.catalogs.catalogs import Catalogs
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.store.identity.tokens import Tokens
from precast.store.nodes.nodes import Fleet
from precast.store.query.resource_index import ResourceIndex
from precast.store.queue.queue import WorkQueue
from precast.store.reports.views import ReportReader
from precast.store.traces import Traces


def build_catalogs_api(
    database: Database, settings: ServerSettings, signer: SignerClient, keyring: Keyring
) -> CatalogsApi:
    catalogs, blobs, traces = Catalogs(database), Blobs(database), Traces(database)
    audit, targets, fleet = build_audit_log(database), build_target_service(database), Fleet(database)
    skeletons = Skeletons(catalogs.documents)
    pointers, secrets = ReleasePointers(signer, database.clock), build_secret_values(database, keyring)
    downloads = CatalogDownloads(database, catalogs, blobs, skeletons, pointers, secrets)
    work, environments = WorkQueue(database, [DECIDE]), Environments(database)
    previews = ReleasePreviews(database, catalogs, environments, traces, targets, skeletons)
    views = CatalogViews(database, catalogs, traces, environments)
    problems = CatalogProblems(database, catalogs, traces, Facts(database), work)
    inputs = NodeInputs(fleet, environments)
    requests = CompileRequests(database, catalogs, traces, inputs, work, audit)
    readiness = ReadinessService(database, fleet, catalogs, environments, targets, traces)
    input_views = CompileInputViews(database, inputs, lambda: read_server_facts(settings))
    return CatalogsApi(views, problems, requests, previews, downloads, readiness, input_views, blobs)


def build_releases_api(database: Database) -> ReleasesApi:
    catalogs, environments, targets = Catalogs(database), Environments(database), build_target_service(database)
    stored = Releases(database, catalogs, environments, build_audit_log(database), build_export_publisher(database))
    approved = _build_approved_releases(database)
    releases = ReleaseService(database, catalogs, environments, targets, stored, approved)
    skeletons = Skeletons(catalogs.documents)
    previews = ReleasePreviews(database, catalogs, environments, Traces(database), targets, skeletons)
    return ReleasesApi(releases, previews, ReleaseViews(database, catalogs, Fleet(database)))


def build_approvals_api(database: Database) -> ApprovalsApi:
    """The API of requests; each kind of request has the code that carries it out."""
    performers: dict[str, ApprovedAction] = {
        RELEASE: _build_approved_releases(database),
        ACTION: build_approved_actions(database),
    }
    audit = build_audit_log(database)
    return ApprovalsApi(ApprovalService(database, Approvals(), Tokens(database), audit, performers))


def _build_approved_releases(database: Database) -> ApprovedReleases:
    catalogs, audit = Catalogs(database), build_audit_log(database)
    requests = RequestBook(database, Approvals(), audit, TimeOrderedIds(database.clock))
    environments = Environments(database)
    releases = Releases(database, catalogs, environments, audit, build_export_publisher(database))
    return ApprovedReleases(catalogs, environments, releases, requests)


def build_origins_api(database: Database) -> OriginsApi:
    stores = Catalogs(database), Traces(database), Environments(database)
    return OriginsApi(OriginService(database, *stores, Versions(Blobs(database))))


def build_queries_api(database: Database) -> QueriesApi:
    search = ResourceSearch(database, ResourceIndex(database))
    reports = ReportSearch(database, ReportReader(database))
    return QueriesApi(QueryService(database, build_target_service(database), search, Catalogs(database), reports))


def build_catalog_indexing(database: Database) -> ResourceIndexer:
    return ResourceIndexer(database, Catalogs(database), ResourceIndex(database))
