"""People and their tokens, the dashboard they look at, and the nodes that a Puppet authority already knew."""

import secrets

from precast.app.parts import audit_log
from precast.base.ids import TimeOrderedIds
from precast.services.certificates import fingerprint
from precast.services.people import PeopleService
from precast.services.puppet_ca import PuppetCa
from precast.services.web_sessions import WebSessionService
from precast.store.database import Database
from precast.store.nodes import Certificate, Nodes
from precast.store.query import Unit
from precast.store.tokens import Tokens
from precast.store.web_sessions import WebSessions


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

    def unit() -> Unit[None]:
        yield from Nodes(database).importing(found)
        yield from audit.adding("system", "authority.import", fingerprint(puppet.certificate), certificates=len(found))

    await database.write(unit)
