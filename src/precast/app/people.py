"""Builds the services of people, tokens and browser sessions; imports the certificates of a Puppet CA."""

import secrets

from precast.app.shared_services import build_audit_log
from precast.base.ids import TimeOrderedIds
from precast.services.identity.certificates import fingerprint
from precast.services.identity.issuance import GRACE_S
from precast.services.identity.issues import NAME_TAKEN
from precast.services.identity.people import PeopleService
from precast.services.identity.puppet_ca import PuppetCa
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.web_sessions import WebSessionService
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.certificates import Certificate, NodeCertificates
from precast.store.identity.tokens import Tokens
from precast.store.identity.web_sessions import WebSessions


def build_people_service(database: Database, signer: SignerClient) -> PeopleService:
    ids = TimeOrderedIds(database.clock)
    return PeopleService(database, Tokens(database), build_audit_log(database), ids, secrets, signer)


def build_browser_sessions(database: Database, people: PeopleService) -> WebSessionService:
    """The service of the browser sessions of the dashboard."""
    sessions, tokens, ids = WebSessions(database), Tokens(database), TimeOrderedIds(database.clock)
    return WebSessionService(database, sessions, tokens, people, build_audit_log(database), ids, secrets)


async def import_certificates(database: Database, puppet: PuppetCa, certificates: list[Certificate]) -> None:
    """Import the certificates of a Puppet CA's nodes in one transaction.

    Raises ConflictError CA-005 if a name belongs to another machine in this database; then nothing is imported.
    """
    audit = build_audit_log(database)

    def import_all() -> Transaction[None]:
        nodes = NodeCertificates(database)
        taken = yield from nodes.find_taken(certificates, GRACE_S)
        if taken is not None:
            raise NAME_TAKEN.error(node=taken)
        yield from nodes.import_certificates(certificates)
        yield from audit.add(
            "system", "authority.import", fingerprint(puppet.certificate), certificates=len(certificates)
        )

    await database.write(import_all)
