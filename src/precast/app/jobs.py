"""Builds jobs: the API that starts and shows them, and the driver that the scheduler runs."""

from precast.api.jobs import JobsApi
from precast.app.settings import ServerSettings
from precast.app.shared_services import build_audit_log, build_target_service
from precast.base.ids import TimeOrderedIds
from precast.services.clocks.guard import ClockGuard
from precast.services.identity.signer.client import SignerClient
from precast.services.jobs.driver import JobDriver
from precast.services.jobs.service import JobService
from precast.services.sessions.orders import MAX_ORDERS, OrderService
from precast.store.engine.database import Database
from precast.store.identity.certificates import NodeCertificates
from precast.store.jobs.jobs import Jobs
from precast.store.sessions.sessions import Sessions
from precast.store.sessions.streams import Streams


def build_runs_api(database: Database, settings: ServerSettings, signer: SignerClient) -> JobsApi:
    ids, targets, audit = TimeOrderedIds(database.clock), build_target_service(database), build_audit_log(database)
    service = JobService(database, Jobs(database), Sessions(database), targets, audit, ids, signer)
    return JobsApi(service, database.clock, settings.runs_per_minute)


def build_run_driver(database: Database, guard: ClockGuard) -> JobDriver:
    sessions, streams = Sessions(database), Streams(database, MAX_ORDERS)
    orders = OrderService(NodeCertificates(database), streams, build_audit_log(database))
    return JobDriver(database, Jobs(database), sessions, orders, guard)
