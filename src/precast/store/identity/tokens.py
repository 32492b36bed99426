"""Tokens: of people, and for enrolling nodes. Only a hash of the secret is kept; what is shown once cannot be shown again."""

from datetime import datetime

import msgspec

from precast.base import canonical
from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction

ADD_PERSON = Query(
    "tokens.add_person",
    """
    INSERT INTO person_token (id, secret_hash, person, role, environments, expires_at, created_at, created_by)
    VALUES (:id, :secret_hash, :person, :role, :environments, :expires_at, :now, :created_by)
    """,
)
PERSON = Query(
    "tokens.person",
    """
    SELECT id, secret_hash, person, role, environments, expires_at, revoked_at FROM person_token WHERE id = :id
    """,
)
PEOPLE = Query(
    "tokens.people",
    """
    SELECT id, secret_hash, person, role, environments, expires_at, revoked_at FROM person_token
    WHERE id > :after ORDER BY id LIMIT :limit
    """,
)
REVOKE_PERSON = Query(
    "tokens.revoke_person",
    "UPDATE person_token SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL RETURNING id",
)
ADD_ENROLMENT = Query(
    "tokens.add_enrolment",
    """
    INSERT INTO enrolment_token
        (id, secret_hash, pattern, extensions, uses_left, expires_at, created_at, created_by)
    VALUES (:id, :secret_hash, :pattern, :extensions, :uses, :expires_at, :now, :created_by)
    """,
)
ENROLMENT = Query(
    "tokens.enrolment",
    """
    SELECT id, secret_hash, pattern, extensions, uses_left, expires_at, revoked_at FROM enrolment_token WHERE id = :id
    """,
)
ENROLMENTS = Query(
    "tokens.enrolments",
    """
    SELECT id, secret_hash, pattern, extensions, uses_left, expires_at, revoked_at FROM enrolment_token
    WHERE id > :after ORDER BY id LIMIT :limit
    """,
)
USE_ENROLMENT = Query(
    "tokens.use_enrolment",
    """
    -- Take one of its uses, if there is one left and it is still good.
    UPDATE enrolment_token SET uses_left = uses_left - 1
    WHERE id = :id AND uses_left > 0 AND expires_at > :now AND revoked_at IS NULL
    RETURNING id
    """,
)
REVOKE_ENROLMENT = Query(
    "tokens.revoke_enrolment",
    "UPDATE enrolment_token SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL RETURNING id",
)


class PersonToken(msgspec.Struct, frozen=True):
    """What a person shows to be known."""

    id: str
    secret_hash: bytes
    person: str
    role: str
    environments: list[str]
    expires_at: datetime
    revoked_at: datetime | None = None


class EnrolmentToken(msgspec.Struct, frozen=True):
    """What a node shows to be given a certificate."""

    id: str
    secret_hash: bytes
    pattern: str
    extensions: dict[str, str]
    uses_left: int
    expires_at: datetime
    revoked_at: datetime | None = None


class Tokens:
    """All tokens of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def adding_person(self, token: PersonToken, created_by: str) -> Transaction[None]:
        yield ADD_PERSON(
            id=token.id,
            secret_hash=token.secret_hash,
            person=token.person,
            role=token.role,
            environments=canonical.encode(token.environments),
            expires_at=to_micros(token.expires_at),
            now=to_micros(self._database.clock.now()),
            created_by=created_by,
        )

    def adding_enrolment(self, token: EnrolmentToken, created_by: str) -> Transaction[None]:
        yield ADD_ENROLMENT(
            id=token.id,
            secret_hash=token.secret_hash,
            pattern=token.pattern,
            extensions=canonical.encode(token.extensions),
            uses=token.uses_left,
            expires_at=to_micros(token.expires_at),
            now=to_micros(self._database.clock.now()),
            created_by=created_by,
        )

    def using_enrolment(self, token_id: str) -> Transaction[bool]:
        """Take one use; False if none is left or the token is over."""
        return bool((yield USE_ENROLMENT(id=token_id, now=to_micros(self._database.clock.now()))))

    def revoking(self, token_id: str) -> Transaction[bool]:
        """Revoke a token of either sort; False if there is none that is still good."""
        now = to_micros(self._database.clock.now())
        for query in (REVOKE_PERSON, REVOKE_ENROLMENT):
            if (yield query(id=token_id, now=now)):
                return True
        return False

    async def person(self, token_id: str) -> PersonToken | None:
        return await self._database.read(_reading_person, token_id)

    async def enrolment(self, token_id: str) -> EnrolmentToken | None:
        return await self._database.read(_reading_enrolment, token_id)

    async def people(self, after: str = "", limit: int = 100) -> list[PersonToken]:
        return await self._database.read(_listing_people, after, limit)

    async def enrolments(self, after: str = "", limit: int = 100) -> list[EnrolmentToken]:
        return await self._database.read(_listing_enrolments, after, limit)


def _reading_person(token_id: str) -> Transaction[PersonToken | None]:
    rows = yield PERSON(id=token_id)
    return _person(*rows[0]) if rows else None


def _reading_enrolment(token_id: str) -> Transaction[EnrolmentToken | None]:
    rows = yield ENROLMENT(id=token_id)
    return _enrolment(*rows[0]) if rows else None


def _listing_people(after: str, limit: int) -> Transaction[list[PersonToken]]:
    return [_person(*row) for row in (yield PEOPLE(after=after, limit=limit))]


def _listing_enrolments(after: str, limit: int) -> Transaction[list[EnrolmentToken]]:
    return [_enrolment(*row) for row in (yield ENROLMENTS(after=after, limit=limit))]


def _person(
    id_: str, secret_hash: bytes, person: str, role: str, environments: bytes, expires: int, revoked: int | None
) -> PersonToken:
    names = msgspec.json.decode(environments, type=list[str])
    return PersonToken(id_, secret_hash, person, role, names, from_micros(expires), from_optional_micros(revoked))


def _enrolment(
    id_: str, secret_hash: bytes, pattern: str, extensions: bytes, uses_left: int, expires: int, revoked: int | None
) -> EnrolmentToken:
    given = msgspec.json.decode(extensions, type=dict[str, str])
    return EnrolmentToken(
        id_, secret_hash, pattern, given, uses_left, from_micros(expires), from_optional_micros(revoked)
    )
