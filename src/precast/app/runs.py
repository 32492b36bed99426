"""Runs over nodes: begun and looked at through the API, driven by the scheduler."""

from precast.api.runs import RunsApi
from precast.app.parts import audit_log, target_service
from precast.base.ids import TimeOrderedIds
from precast.cli.settings import ServerSettings
from precast.services.runs.driving import Driver
from precast.services.runs.service import RunService
from precast.services.sessions import MAX_ORDERS, SessionService
from precast.store.database import Database
from precast.store.facts import Facts
from precast.store.nodes import Nodes
from precast.store.runs import Runs
from precast.store.sessions import Sessions
from precast.store.streams import Streams


def runs_api(database: Database, settings: ServerSettings) -> RunsApi:
    ids, targets, audit = TimeOrderedIds(database.clock), target_service(database), audit_log(database)
    service = RunService(database, Runs(database), Sessions(database), targets, audit, ids)
    return RunsApi(service, database.clock, settings.runs_per_minute)


def run_driver(database: Database) -> Driver:
    sessions, streams = Sessions(database), Streams(database, MAX_ORDERS)
    nodes, newest = Nodes(database), Facts(database).newest
    orders = SessionService(database, sessions, nodes, streams, audit_log(database), newest)
    return Driver(database, Runs(database), sessions, orders)
