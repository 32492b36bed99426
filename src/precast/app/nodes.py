"""Nodes: how they get in, what they say of themselves, what people see of them, and what they may do."""

import secrets

from precast.api.facts import FactsApi
from precast.api.identity.identity import IdentityApi
from precast.api.identity.requests import RequestsApi
from precast.api.nodes.nodes import NodesApi
from precast.api.nodes.policies import PoliciesApi
from precast.app.parts import audit_log, known_nodes, target_service
from precast.base.ids import TimeOrderedIds
from precast.services.facts.differences import FactDifferences
from precast.services.facts.facts import FACTS, FactService
from precast.services.facts.reads import ReadFacts
from precast.services.identity.authority_files import HeldAuthority
from precast.services.identity.enrolment import EnrolmentService
from precast.services.identity.people import PeopleService
from precast.services.identity.recognition import RecognitionService
from precast.services.identity.requests import RequestService
from precast.services.nodes.classification import Classifier
from precast.services.nodes.nodes import NodeService
from precast.services.nodes.policies import PolicyService
from precast.services.sessions.sessions import SessionService
from precast.services.work_kinds import ASK_ENC, DECIDE
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.store.identity.certificates import Nodes
from precast.store.identity.requests import Requests
from precast.store.identity.tokens import Tokens
from precast.store.nodes.nodes import Fleet
from precast.store.nodes.policies import Policies
from precast.store.queue.queue import WorkQueue
from precast.store.sessions.sessions import Sessions
from precast.store.sessions.streams import Streams


def fact_service(database: Database) -> FactService:
    return FactService(database, Facts(database), WorkQueue(database, [FACTS, DECIDE]), ReadFacts(database))


def facts_api(database: Database, facts: FactService) -> FactsApi:
    return FactsApi(facts, FactDifferences(Facts(database)), database.clock)


def identity_api(
    database: Database,
    authority: HeldAuthority,
    people: PeopleService,
    recognition: RecognitionService,
    classifier: Classifier,
) -> IdentityApi:
    nodes, tokens, audit = Nodes(database), Tokens(database), audit_log(database)
    ids = TimeOrderedIds(database.clock)
    enrolment = EnrolmentService(database, nodes, tokens, audit, authority, recognition, ids, secrets, classifier)
    return IdentityApi(enrolment, people, nodes, audit)


def requests_api(database: Database, authority: HeldAuthority, classifier: Classifier) -> RequestsApi:
    nodes, requests = Nodes(database), Requests(database)
    return RequestsApi(RequestService(database, nodes, requests, audit_log(database), authority, classifier))


def nodes_api(database: Database, orders: SessionService, classifier: Classifier) -> NodesApi:
    targets = target_service(database)
    service = NodeService(
        database,
        Fleet(database),
        Nodes(database),
        known_nodes(database),
        targets,
        Facts(database),
        Sessions(database),
        Streams(database),
        orders,
        WorkQueue(database, [FACTS, DECIDE, ASK_ENC]),
        audit_log(database),
        classifier,
    )
    return NodesApi(service, targets)


def policies_api(database: Database, authority: HeldAuthority) -> PoliciesApi:
    known, targets = known_nodes(database), target_service(database)
    nodes, audit = Nodes(database), audit_log(database)
    return PoliciesApi(PolicyService(database, Policies(database), nodes, known, targets, audit, authority))
