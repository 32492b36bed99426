"""Browsers: a person's token is exchanged for a session that can look and change nothing.

A session is good for a working day, and no longer than its token: when that is revoked, so is everything it was exchanged for. It has the
person's environments and the role viewer, whatever the token could do: what a stolen cookie or a script in a page could do is little.
"""

from datetime import timedelta

import msgspec

from precast.base.errors import PrecastError
from precast.base.ids import Ids
from precast.services import issues
from precast.services.identity import roles
from precast.services.identity.people import PeopleService, Person
from precast.services.identity.secrets_source import Secrets
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.tokens import Tokens
from precast.store.identity.web_sessions import WebSession, WebSessions
from precast.wire import issues as wire_issues
from precast.wire.identity import tokens as wire

LASTS = timedelta(hours=10)
# Of one token; beginning another ends the oldest.
MAX_OF_TOKEN = 20
ROLE = "viewer"


class Begun(msgspec.Struct, frozen=True):
    """A session that has just begun: what the cookie holds, and for how long."""

    cookie: str
    person: Person
    seconds: int


class Shown(msgspec.Struct, frozen=True):
    """A session that is good now."""

    id: str
    person: Person


class WebSessionService:
    """Begins, recognises and ends sessions; holds no state between calls."""

    def __init__(
        self,
        database: Database,
        sessions: WebSessions,
        tokens: Tokens,
        people: PeopleService,
        audit: AuditLog,
        ids: Ids,
        secrets: Secrets,
    ) -> None:
        self._database, self._sessions, self._tokens, self._people = database, sessions, tokens, people
        self._audit, self._ids, self._secrets = audit, ids, secrets

    async def begin(self, token: str) -> Begun:
        """Exchange a token. Raises UnauthenticatedError AUTH-006 for one that is not good, DeniedError AUTH-007 if it may not look."""
        try:
            person = await self._people.recognise(token)
        except PrecastError as error:
            if not wire_issues.BAD_TOKEN.matches(error):
                raise
            person = None
        if person is None:
            raise issues.BAD_SIGN_IN.error()
        if not roles.includes(person.role, ROLE):
            raise issues.NO_LOOKING.error(role=person.role)
        known = await self._tokens.person(wire.parse_person(token).id)
        assert known is not None, "it has just been recognised"
        secret = wire.PersonSecret(self._ids.new(), self._secrets.token_bytes(wire.SECRET_BYTES))
        expires_at = min(known.expires_at, self._database.clock.now() + LASTS)
        session = WebSession(secret.id, wire.hash_secret(secret.secret), known.id, expires_at)
        await self._database.write(self._beginning, session, person)
        seconds = int((expires_at - self._database.clock.now()).total_seconds())
        return Begun(str(secret), _looking(person), seconds)

    async def recognise(self, cookie: str) -> Shown | None:
        """Whose session this is; None if it is nobody's, or over, or its token is."""
        try:
            shown = wire.parse_person(cookie)
        except PrecastError:
            return None
        session = await self._sessions.find(shown.id)
        now = self._database.clock.now()
        if session is None or session.expires_at <= now or not wire.is_secret(shown.secret, session.secret_hash):
            return None
        token = await self._tokens.person(session.token)
        if token is None or token.revoked_at is not None or token.expires_at <= now:
            return None
        return Shown(session.id, Person(token.person, ROLE, token.environments))

    async def end(self, cookie: str) -> None:
        """The cookie opens nothing any more."""
        shown = await self.recognise(cookie)
        if shown is not None:
            await self._database.write(self._ending, shown)

    def _beginning(self, session: WebSession, person: Person) -> Transaction[None]:
        yield from self._sessions.adding(session, MAX_OF_TOKEN)
        yield from self._audit.adding(person.actor, "web.sign-in", session.id, token=session.token)

    def _ending(self, session: Shown) -> Transaction[None]:
        if (yield from self._sessions.ending(session.id)):
            yield from self._audit.adding(session.person.actor, "web.sign-out", session.id)


def _looking(person: Person) -> Person:
    return Person(person.name, ROLE, person.environments)
