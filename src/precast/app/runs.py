"""Runs over nodes: begun and looked at through the API, driven by the scheduler."""

from precast.api.jobs import RunsApi
from precast.app.parts import audit_log, target_service
from precast.app.settings import ServerSettings
from precast.base.ids import TimeOrderedIds
from precast.services.jobs.driving import Driver
from precast.services.jobs.service import RunService
from precast.services.sessions.sessions import MAX_ORDERS, SessionService
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.store.identity.certificates import Nodes
from precast.store.jobs.runs import Runs
from precast.store.sessions.sessions import Sessions
from precast.store.sessions.streams import Streams


def runs_api(database: Database, settings: ServerSettings) -> RunsApi:
    ids, targets, audit = TimeOrderedIds(database.clock), target_service(database), audit_log(database)
    service = RunService(database, Runs(database), Sessions(database), targets, audit, ids)
    return RunsApi(service, database.clock, settings.runs_per_minute)


def run_driver(database: Database) -> Driver:
    sessions, streams = Sessions(database), Streams(database, MAX_ORDERS)
    nodes, newest = Nodes(database), Facts(database).newest
    orders = SessionService(database, sessions, nodes, streams, audit_log(database), newest)
    return Driver(database, Runs(database), sessions, orders)
