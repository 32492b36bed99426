"""The connections of nodes, what looks after them, what people may ask about them, and how orders get to nodes."""

from typing import NamedTuple

from precast.api.sessions.hub import Hub, HubSettings
from precast.api.sessions.presence import SessionsApi
from precast.api.sessions.records import messages_of
from precast.api.sessions.run_records import add_run_records
from precast.api.sessions.tending import Tending
from precast.app.parts import audit_log
from precast.services.facts.facts import FactService
from precast.services.jobs.results import StepResults
from precast.services.reports.reports import ReportService
from precast.services.sessions.served import ServedThings
from precast.services.sessions.sessions import MAX_ORDERS, SessionService
from precast.store.catalogs import Catalogs
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.store.identity.certificates import Nodes
from precast.store.jobs.runs import Runs
from precast.store.nodes.policies import Policies
from precast.store.sessions.sessions import Sessions
from precast.store.sessions.streams import Streams


class SessionRoom(NamedTuple):
    """All that has to do with nodes being connected."""

    service: SessionService
    hub: Hub
    tending: Tending
    api: SessionsApi


def session_room(database: Database, facts: FactService, reports: ReportService, server_id: str) -> SessionRoom:
    sessions, settings = Sessions(database), HubSettings()
    nodes, streams, audit = Nodes(database), Streams(database, MAX_ORDERS), audit_log(database)
    served = ServedThings(database, Catalogs(database), Policies(database))
    service = SessionService(database, sessions, nodes, streams, audit, Facts(database).newest, served.serving)
    messages = messages_of(facts, service, reports)
    add_run_records(messages, StepResults(Runs(database)))
    hub = Hub(service, sessions, messages, server_id, settings)
    tending = Tending(hub, service, sessions, nodes, database, settings, served)
    return SessionRoom(service, hub, tending, SessionsApi(sessions))
