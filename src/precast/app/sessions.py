"""Builds the sessions of nodes: the websocket endpoint, its maintenance, the API about presence, and the service of orders."""

from typing import NamedTuple

from precast.api.sessions.endpoint import SessionEndpoint, SessionSettings
from precast.api.sessions.maintenance import SessionMaintenance
from precast.api.sessions.presence import SessionsApi
from precast.api.sessions.records import declare_messages
from precast.app.jobs import build_action_events, build_attempt_results
from precast.app.shared_services import build_audit_log
from precast.services.facts.records import FactRecords
from precast.services.facts.service import FactService
from precast.services.futures.records import FutureRecords
from precast.services.futures.sealing import FutureSeals
from precast.services.futures.subscriptions import FutureHub
from precast.services.identity.signer.client import SignerClient
from precast.services.jobs.order_signatures import OrderSignatures
from precast.services.jobs.records import OrderRecords
from precast.services.reports.reports import ReportService
from precast.services.secrets.keyring import Keyring
from precast.services.sessions.orders import MAX_ORDERS, OrderService
from precast.services.sessions.record_intake import RecordIntake
from precast.services.sessions.served_state import ServedStates
from precast.services.sessions.server_presence import ServerPresence
from precast.services.sessions.sessions import SessionService
from precast.store.catalogs.catalogs import Catalogs
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.store.identity.certificates import NodeCertificates
from precast.store.jobs.attempts import Attempts
from precast.store.nodes.policies import Policies
from precast.store.sessions.sessions import Sessions
from precast.store.sessions.streams import Streams


class SessionComponents(NamedTuple):
    """The parts of a server that deal with connected nodes."""

    orders: OrderService
    endpoint: SessionEndpoint
    maintenance: SessionMaintenance
    api: SessionsApi
    futures: FutureHub


def build_session_components(
    database: Database,
    facts: FactService,
    reports: ReportService,
    server_id: str,
    signer: SignerClient,
    keyring: Keyring,
) -> SessionComponents:
    sessions, settings = Sessions(database), SessionSettings()
    nodes, streams, audit = NodeCertificates(database), Streams(database, MAX_ORDERS), build_audit_log(database)
    served = ServedStates(database, Catalogs(database), Policies(database))
    orders = OrderService(nodes, streams, audit, OrderSignatures(signer).prepare)
    records = RecordIntake(database, sessions)
    newest_facts, events = Facts(database).find_newest_digest, build_action_events(database)
    service = SessionService(database, sessions, streams, audit, newest_facts, served.read, events)
    order_records = OrderRecords(build_attempt_results(database))
    seals = FutureSeals(keyring)
    futures = FutureHub(database, seals)
    future_records = FutureRecords(database.clock, seals, audit, Attempts(database))
    messages = declare_messages(FactRecords(facts), records, reports, order_records, future_records)
    endpoint = SessionEndpoint(service, records, orders, sessions, messages, server_id, settings, futures)
    presence = ServerPresence(sessions, server_id, endpoint)
    maintenance = SessionMaintenance(endpoint, orders, sessions, nodes, database, settings, served, presence)
    return SessionComponents(orders, endpoint, maintenance, SessionsApi(sessions), futures)
