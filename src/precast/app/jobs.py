"""Builds jobs: the API that starts and shows them, the driver that the scheduler runs, and what follows the reports of nodes."""

from precast.api.jobs import JobsApi
from precast.app.settings import ServerSettings
from precast.app.shared_services import build_audit_log, build_target_service
from precast.app.windows import build_window_service
from precast.base.ids import TimeOrderedIds
from precast.services.clocks.guard import ClockGuard
from precast.services.identity.signer.client import SignerClient
from precast.services.jobs.creation import JobCreation
from precast.services.jobs.driven_job import JobStores
from precast.services.jobs.driver import JobDriver
from precast.services.jobs.flow.intake_lag import IntakeLag
from precast.services.jobs.grants import Grants
from precast.services.jobs.results import AttemptResults
from precast.services.jobs.service import JobService
from precast.services.sessions.orders import MAX_ORDERS, OrderService
from precast.store.engine.database import Database
from precast.store.identity.certificates import NodeCertificates
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.jobs import Jobs
from precast.store.jobs.node_locks import NodeLocks
from precast.store.sessions.sessions import Sessions
from precast.store.sessions.streams import Streams


def build_job_creation(database: Database) -> JobCreation:
    return JobCreation(Jobs(database), Attempts(database), Sessions(database), build_audit_log(database))


def build_job_service(database: Database, signer: SignerClient) -> JobService:
    return JobService(
        database,
        Jobs(database),
        Attempts(database),
        build_job_creation(database),
        build_target_service(database),
        build_audit_log(database),
        TimeOrderedIds(database.clock),
        signer,
    )


def build_runs_api(database: Database, settings: ServerSettings, signer: SignerClient) -> JobsApi:
    return JobsApi(build_job_service(database, signer), database.clock, settings.runs_per_minute)


def build_job_driver(database: Database, guard: ClockGuard, lag: IntakeLag) -> JobDriver:
    stores = JobStores(
        database,
        Jobs(database),
        Attempts(database),
        Sessions(database),
        _build_orders(database),
        _build_grants(database),
        guard,
        build_window_service(database),
    )
    return JobDriver(stores, lag)


def build_attempt_results(database: Database) -> AttemptResults:
    return AttemptResults(Jobs(database), Attempts(database), _build_grants(database))


def _build_grants(database: Database) -> Grants:
    return Grants(database.clock, Attempts(database), NodeLocks(database), _build_orders(database))


def _build_orders(database: Database) -> OrderService:
    """Orders are only posted here; the servers that send them have them signed."""
    return OrderService(NodeCertificates(database), Streams(database, MAX_ORDERS), build_audit_log(database))
