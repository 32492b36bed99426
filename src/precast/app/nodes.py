"""Builds the APIs of nodes: enrolment, certificate requests, facts, views, policies and maintenance windows."""

import secrets

from precast.api.facts import FactsApi
from precast.api.identity.identity import IdentityApi
from precast.api.identity.requests import RequestsApi
from precast.api.nodes.nodes import NodesApi
from precast.api.nodes.policies import PoliciesApi
from precast.api.windows import WindowsApi
from precast.app.exports import build_node_exports
from precast.app.shared_services import build_audit_log, build_known_nodes, build_target_service
from precast.base.ids import TimeOrderedIds
from precast.services.clocks.guard import ClockGuard
from precast.services.exports.nodes import ExportAdmission
from precast.services.facts.differences import FactDifferences
from precast.services.facts.intake import FACTS
from precast.services.facts.reads import TracedReads
from precast.services.facts.service import FactService
from precast.services.identity.enrolment import EnrolmentService
from precast.services.identity.people import PeopleService
from precast.services.identity.recognition import RecognitionService
from precast.services.identity.requests import RequestService
from precast.services.identity.signer.client import SignerClient
from precast.services.nodes.classification import Classifier
from precast.services.nodes.nodes import NodeService
from precast.services.nodes.policies import PolicyService
from precast.services.sessions.orders import OrderService
from precast.services.windows.bound_nodes import BoundNodes
from precast.services.windows.definitions import WindowDefinitions
from precast.services.windows.expansion import WindowExpansions
from precast.services.windows.openings import WindowService
from precast.services.work_kinds import ASK_ENC, DECIDE
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.store.identity.certificates import NodeCertificates
from precast.store.identity.requests import EnrolmentRequests
from precast.store.identity.tokens import Tokens
from precast.store.nodes.nodes import Fleet
from precast.store.nodes.policies import Policies
from precast.store.queue.queue import WorkQueue
from precast.store.sessions.sessions import Sessions
from precast.store.sessions.streams import Streams
from precast.store.windows.windows import Windows


def build_fact_service(database: Database) -> FactService:
    return FactService(database, Facts(database), WorkQueue(database, [FACTS, DECIDE]), TracedReads(database))


def build_facts_api(database: Database, facts: FactService) -> FactsApi:
    return FactsApi(facts, FactDifferences(Facts(database)), database.clock)


def build_identity_api(
    database: Database,
    signer: SignerClient,
    people: PeopleService,
    recognition: RecognitionService,
    classifier: Classifier,
    guard: ClockGuard,
) -> IdentityApi:
    nodes, tokens, audit = NodeCertificates(database), Tokens(database), build_audit_log(database)
    ids, admission = TimeOrderedIds(database.clock), ExportAdmission(classifier, build_node_exports(database))
    enrolment = EnrolmentService(database, nodes, tokens, audit, signer, recognition, ids, secrets, admission, guard)
    return IdentityApi(enrolment, people, nodes)


def build_requests_api(
    database: Database, signer: SignerClient, classifier: Classifier, guard: ClockGuard
) -> RequestsApi:
    nodes, requests = NodeCertificates(database), EnrolmentRequests(database)
    admission = ExportAdmission(classifier, build_node_exports(database))
    return RequestsApi(RequestService(database, nodes, requests, build_audit_log(database), signer, admission, guard))


def build_nodes_api(database: Database, orders: OrderService, classifier: Classifier) -> NodesApi:
    targets = build_target_service(database)
    service = NodeService(
        database,
        Fleet(database),
        NodeCertificates(database),
        build_known_nodes(database),
        targets,
        Facts(database),
        Sessions(database),
        Streams(database),
        orders,
        WorkQueue(database, [FACTS, DECIDE, ASK_ENC]),
        build_audit_log(database),
        classifier,
        build_node_exports(database),
    )
    return NodesApi(service, targets)


def build_policies_api(database: Database, signer: SignerClient) -> PoliciesApi:
    known, targets = build_known_nodes(database), build_target_service(database)
    nodes, audit = NodeCertificates(database), build_audit_log(database)
    windows = build_window_service(database)
    return PoliciesApi(PolicyService(database, Policies(database), nodes, known, targets, audit, signer, windows))


def build_window_service(database: Database) -> WindowService:
    known = build_known_nodes(database)
    nodes = BoundNodes(known, database.clock)
    return WindowService(database, Windows(database), known, nodes, WindowExpansions())


def build_windows_api(database: Database) -> WindowsApi:
    nodes, openings = BoundNodes(build_known_nodes(database), database.clock), build_window_service(database)
    audit = build_audit_log(database)
    return WindowsApi(WindowDefinitions(database, Windows(database), openings, nodes, audit), openings)
