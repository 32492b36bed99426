"""People and their tokens, the dashboard they look at, and the nodes that a Puppet authority already knew."""

import secrets

from precast.app.parts import audit_log
from precast.base.ids import TimeOrderedIds
from precast.services.identity.certificates import fingerprint
from precast.services.identity.people import PeopleService
from precast.services.identity.puppet_ca import PuppetCa
from precast.services.identity.web_sessions import WebSessionService
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.certificates import Certificate, Nodes
from precast.store.identity.tokens import Tokens
from precast.store.identity.web_sessions import WebSessions


def people_service(database: Database) -> PeopleService:
    ids = TimeOrderedIds(database.clock)
    return PeopleService(database, Tokens(database), audit_log(database), ids, secrets)


def browser_sessions(database: Database, people: PeopleService) -> WebSessionService:
    """The sessions that the dashboard is looked at with."""
    sessions, tokens, ids = WebSessions(database), Tokens(database), TimeOrderedIds(database.clock)
    return WebSessionService(database, sessions, tokens, people, audit_log(database), ids, secrets)


async def importing(database: Database, puppet: PuppetCa, found: list[Certificate]) -> None:
    """Take in the nodes of a Puppet authority, all or none."""
    audit = audit_log(database)

    def unit() -> Transaction[None]:
        yield from Nodes(database).importing(found)
        yield from audit.adding("system", "authority.import", fingerprint(puppet.certificate), certificates=len(found))

    await database.write(unit)
