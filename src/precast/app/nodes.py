"""Nodes: how they get in, what they say of themselves, what people see of them, and what they may do."""

import secrets

from precast.api.facts import FactsApi
from precast.api.identity import IdentityApi
from precast.api.nodes import NodesApi
from precast.api.policies import PoliciesApi
from precast.api.requests import RequestsApi
from precast.app.parts import audit_log, known_nodes, target_service
from precast.base.ids import TimeOrderedIds
from precast.services.authority_files import HeldAuthority
from precast.services.classification import Classifier
from precast.services.enrolment import EnrolmentService
from precast.services.fact_differences import FactDifferences
from precast.services.fact_reads import ReadFacts
from precast.services.facts import FACTS, FactService
from precast.services.nodes import NodeService
from precast.services.people import PeopleService
from precast.services.policies import PolicyService
from precast.services.recognition import RecognitionService
from precast.services.requests import RequestService
from precast.services.sessions import SessionService
from precast.services.work_kinds import ASK_ENC, DECIDE
from precast.store.database import Database
from precast.store.facts import Facts
from precast.store.fleet import Fleet
from precast.store.nodes import Nodes
from precast.store.policies import Policies
from precast.store.requests import Requests
from precast.store.sessions import Sessions
from precast.store.streams import Streams
from precast.store.tokens import Tokens
from precast.store.work import WorkQueue


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
