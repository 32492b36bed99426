"""Tokens of people and enrolment tokens. Only a hash of the secret is stored, so a token can be shown only once."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base import canonical
from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction, json_list

ADD_PERSON = Query(
    "tokens.add_person",
    """
    INSERT INTO person_token (id, secret_hash, person, role, environments, expires_at, seal, created_at, created_by)
    VALUES (:id, :secret_hash, :person, :role, :environments, :expires_at, :seal, :now, :created_by)
    """,
)
PERSON = Query(
    "tokens.person",
    """
    SELECT id, secret_hash, person, role, environments, expires_at, seal, revoked_at FROM person_token WHERE id = :id
    """,
)
PEOPLE = Query(
    "tokens.people",
    """
    SELECT id, secret_hash, person, role, environments, expires_at, seal, revoked_at FROM person_token
    WHERE id > :after ORDER BY id LIMIT :limit
    """,
)
REVOKE_PERSON = Query(
    "tokens.revoke_person",
    "UPDATE person_token SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL RETURNING id",
)
REVOKED = Query(
    "tokens.revoked",
    "SELECT id FROM person_token WHERE id IN (SELECT value FROM json_each(:ids)) AND revoked_at IS NOT NULL",
    postgresql="""
    SELECT id FROM person_token
    WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB)))) AND revoked_at IS NOT NULL
    """,
)
ADD_ENROLMENT = Query(
    "tokens.add_enrolment",
    """
    INSERT INTO enrolment_token
        (id, secret_hash, pattern, extensions, uses, uses_left, expires_at, seal, created_at, created_by)
    VALUES (:id, :secret_hash, :pattern, :extensions, :uses, :uses, :expires_at, :seal, :now, :created_by)
    """,
)
ENROLMENT = Query(
    "tokens.enrolment",
    """
    SELECT id, secret_hash, pattern, extensions, uses, uses_left, expires_at, seal, revoked_at FROM enrolment_token WHERE id = :id
    """,
)
ENROLMENTS = Query(
    "tokens.enrolments",
    """
    SELECT id, secret_hash, pattern, extensions, uses, uses_left, expires_at, seal, revoked_at FROM enrolment_token
    WHERE id > :after ORDER BY id LIMIT :limit
    """,
)
USE_ENROLMENT = Query(
    "tokens.use_enrolment",
    """
    -- Consumes one use, if one is left and the token is still valid.
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
    """A token that identifies a person."""

    id: str
    secret_hash: bytes
    person: str
    role: str
    environments: list[str]
    expires_at: datetime
    seal: bytes  # of the signer
    revoked_at: datetime | None = None


class EnrolmentToken(msgspec.Struct, frozen=True):
    """A token with which a machine gets its first certificate."""

    id: str
    secret_hash: bytes
    pattern: str
    extensions: dict[str, str]
    uses: int
    uses_left: int
    expires_at: datetime
    seal: bytes  # of the signer
    revoked_at: datetime | None = None


class Tokens:
    """All tokens of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add_person_token(self, token: PersonToken, created_by: str) -> Transaction[None]:
        yield ADD_PERSON(
            id=token.id,
            secret_hash=token.secret_hash,
            person=token.person,
            role=token.role,
            environments=canonical.encode(token.environments),
            expires_at=to_micros(token.expires_at),
            seal=token.seal,
            now=to_micros(self._database.clock.now()),
            created_by=created_by,
        )

    def add_enrolment_token(self, token: EnrolmentToken, created_by: str) -> Transaction[None]:
        yield ADD_ENROLMENT(
            id=token.id,
            secret_hash=token.secret_hash,
            pattern=token.pattern,
            extensions=canonical.encode(token.extensions),
            uses=token.uses,
            expires_at=to_micros(token.expires_at),
            seal=token.seal,
            now=to_micros(self._database.clock.now()),
            created_by=created_by,
        )

    def use_enrolment_token(self, token_id: str) -> Transaction[bool]:
        """Consume one use; False if none is left, or the token has expired or was revoked."""
        return bool((yield USE_ENROLMENT(id=token_id, now=to_micros(self._database.clock.now()))))

    def revoke(self, token_id: str) -> Transaction[bool]:
        """Revoke a token of either sort; False if no such token exists or it is revoked already."""
        now = to_micros(self._database.clock.now())
        for query in (REVOKE_PERSON, REVOKE_ENROLMENT):
            if (yield query(id=token_id, now=now)):
                return True
        return False

    def filter_revoked(self, token_ids: Sequence[str]) -> Transaction[set[str]]:
        """Return those of the tokens of people that are revoked."""
        return {row[0] for row in (yield REVOKED(ids=json_list(token_ids)))}

    def read_person_token(self, token_id: str) -> Transaction[PersonToken | None]:
        """Find a person's token as part of a transaction."""
        return (yield from _find_person_token(token_id))

    async def find_person_token(self, token_id: str) -> PersonToken | None:
        return await self._database.read(_find_person_token, token_id)

    async def find_enrolment_token(self, token_id: str) -> EnrolmentToken | None:
        return await self._database.read(_find_enrolment_token, token_id)

    async def list_person_tokens(self, after: str = "", limit: int = 100) -> list[PersonToken]:
        return await self._database.read(_list_person_tokens, after, limit)

    async def list_enrolment_tokens(self, after: str = "", limit: int = 100) -> list[EnrolmentToken]:
        return await self._database.read(_list_enrolment_tokens, after, limit)


def _find_person_token(token_id: str) -> Transaction[PersonToken | None]:
    rows = yield PERSON(id=token_id)
    return _person(*rows[0]) if rows else None


def _find_enrolment_token(token_id: str) -> Transaction[EnrolmentToken | None]:
    rows = yield ENROLMENT(id=token_id)
    return _enrolment(*rows[0]) if rows else None


def _list_person_tokens(after: str, limit: int) -> Transaction[list[PersonToken]]:
    return [_person(*row) for row in (yield PEOPLE(after=after, limit=limit))]


def _list_enrolment_tokens(after: str, limit: int) -> Transaction[list[EnrolmentToken]]:
    return [_enrolment(*row) for row in (yield ENROLMENTS(after=after, limit=limit))]


def _person(
    id_: str,
    secret_hash: bytes,
    person: str,
    role: str,
    environments: bytes,
    expires: int,
    seal: bytes,
    revoked: int | None,
) -> PersonToken:
    names = msgspec.json.decode(environments, type=list[str])
    revoked_at = from_optional_micros(revoked)
    return PersonToken(id_, secret_hash, person, role, names, from_micros(expires), bytes(seal), revoked_at)


def _enrolment(
    id_: str,
    secret_hash: bytes,
    pattern: str,
    extensions: bytes,
    uses: int,
    uses_left: int,
    expires: int,
    seal: bytes,
    revoked: int | None,
) -> EnrolmentToken:
    return EnrolmentToken(
        id_,
        secret_hash,
        pattern,
        msgspec.json.decode(extensions, type=dict[str, str]),
        uses,
        uses_left,
        from_micros(expires),
        bytes(seal),
        from_optional_micros(revoked),
    )
