"""Builds the services of futures."""

from precast.api.futures import FuturesApi
from precast.app.shared_services import build_audit_log
from precast.base.confinement.confine import Level
from precast.services.futures.checking.joint_checks import JointChecks
from precast.services.futures.sealing import FutureSeals
from precast.services.futures.service import FutureService
from precast.services.jobs.future_views import JobFutureViews
from precast.services.secrets.keyring import Keyring
from precast.store.catalogs.documents import Documents
from precast.store.engine.database import Database
from precast.store.jobs.jobs import Jobs
from precast.store.traces import Traces


def build_futures_api(database: Database, keyring: Keyring) -> FuturesApi:
    values = FutureService(database, FutureSeals(keyring), build_audit_log(database))
    return FuturesApi(values, JobFutureViews(database, Jobs(database)))


def build_joint_checks(database: Database, level: Level = Level.STRICT) -> JointChecks:
    """What finds nodes of a job that would wait for each other for ever."""
    return JointChecks(database, Documents(database), Traces(database), level)
