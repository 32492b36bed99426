"""Builds the services of futures."""

from precast.api.futures import FuturesApi
from precast.app.shared_services import build_audit_log
from precast.services.futures.sealing import FutureSeals
from precast.services.futures.service import FutureService
from precast.services.secrets.keyring import Keyring
from precast.store.engine.database import Database


def build_futures_api(database: Database, keyring: Keyring) -> FuturesApi:
    return FuturesApi(FutureService(database, FutureSeals(keyring), build_audit_log(database)))
