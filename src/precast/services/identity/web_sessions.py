"""Browser sessions: a person exchanges a token for a session that is read-only.

A session is valid for a working day, and no longer than its token: revoking the token ends its sessions. It has the person's
environments and the role viewer, whatever the role of the token, so that a stolen cookie or a script in a page can do little.
"""

from datetime import timedelta

import msgspec

from precast.base.errors import PrecastError
from precast.base.ids import Ids
from precast.services.identity import issues, roles
from precast.services.identity.people import PeopleService, Person
from precast.services.identity.secret_source import SecretSource
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.tokens import Tokens
from precast.store.identity.web_sessions import WebSession, WebSessions
from precast.wire import issues as wire_issues
from precast.wire.identity import tokens as wire

SESSION_FOR = timedelta(hours=10)
# Sessions of one token; a further one ends the oldest.
MAX_OF_TOKEN = 20
ROLE = "viewer"


class NewWebSession(msgspec.Struct, frozen=True):
    """A session that has just begun: the content of its cookie, and its lifetime."""

    cookie: str
    person: Person
    seconds: int


class ValidWebSession(msgspec.Struct, frozen=True):
    """A session that is valid at present."""

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
        secrets: SecretSource,
    ) -> None:
        self._database, self._sessions, self._tokens, self._people = database, sessions, tokens, people
        self._audit, self._ids, self._secrets = audit, ids, secrets

    async def begin(self, token: str) -> NewWebSession:
        """Exchange a token for a session.

        Raises UnauthenticatedError AUTH-006 for an invalid token, DeniedError AUTH-007 if its role has no read access.
        """
        try:
            person = await self._people.recognise(token)
        except PrecastError as error:
            if not wire_issues.BAD_TOKEN.matches(error):
                raise
            person = None
        if person is None:
            raise issues.BAD_SIGN_IN.error()
        if not roles.includes(person.role, ROLE):
            raise issues.NO_READ_ACCESS.error(role=person.role)
        known = await self._tokens.find_person_token(wire.parse_person(token).id)
        assert known is not None, "the token has just been recognised"
        secret = wire.PersonSecret(self._ids.new(), self._secrets.token_bytes(wire.SECRET_BYTES))
        expires_at = min(known.expires_at, self._database.clock.now() + SESSION_FOR)
        session = WebSession(secret.id, wire.hash_secret(secret.secret), known.id, expires_at)
        await self._database.write(self._begin, session, person)
        seconds = int((expires_at - self._database.clock.now()).total_seconds())
        return NewWebSession(str(secret), _as_viewer(person), seconds)

    async def recognise(self, cookie: str) -> ValidWebSession | None:
        """Return the session of a cookie; None if it is unknown or expired, or its token is expired or revoked."""
        try:
            shown = wire.parse_person(cookie)
        except PrecastError:
            return None
        session = await self._sessions.find(shown.id)
        now = self._database.clock.now()
        if session is None or session.expires_at <= now or not wire.is_secret(shown.secret, session.secret_hash):
            return None
        token = await self._tokens.find_person_token(session.token)
        if token is None or token.revoked_at is not None or token.expires_at <= now:
            return None
        return ValidWebSession(session.id, Person(token.person, ROLE, token.environments))

    async def end(self, cookie: str) -> None:
        """End the session of a cookie, if it is valid."""
        session = await self.recognise(cookie)
        if session is not None:
            await self._database.write(self._end, session)

    def _begin(self, session: WebSession, person: Person) -> Transaction[None]:
        yield from self._sessions.add(session, MAX_OF_TOKEN)
        yield from self._audit.add(person.actor, "web.sign-in", session.id, token=session.token)

    def _end(self, session: ValidWebSession) -> Transaction[None]:
        if (yield from self._sessions.end(session.id)):
            yield from self._audit.add(session.person.actor, "web.sign-out", session.id)


def _as_viewer(person: Person) -> Person:
    return Person(person.name, ROLE, person.environments)
