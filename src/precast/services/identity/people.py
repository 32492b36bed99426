"""People: a token identifies a person, and gives them a role in some environments."""

from datetime import timedelta

import msgspec

from precast.base.clock import Clock
from precast.base.ids import Ids
from precast.services import texts
from precast.services.identity import roles
from precast.services.identity.secret_source import SecretSource
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.messages import Credential, PersonRecord
from precast.services.identity.token_limits import MAX_VALID_S
from precast.services.issues import BAD_VALUE
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.tokens import PersonToken, Tokens
from precast.wire.identity import tokens as wire
from precast.wire.identity.bodies import NewPersonToken, TokenBody, TokenRow


class Person(msgspec.Struct, frozen=True):
    """A person who has presented a valid token."""

    name: str
    role: str
    environments: list[str]
    credential: Credential | None = None  # for the signer; None for a browser session, which changes nothing

    @property
    def actor(self) -> str:
        return f"person:{self.name}"


class PeopleService:
    """Creates the tokens of people and recognises them."""

    def __init__(
        self,
        database: Database,
        tokens: Tokens,
        audit: AuditLog,
        ids: Ids,
        secrets: SecretSource,
        signer: SignerClient,
    ) -> None:
        self._database = database
        self._signer = signer
        self._tokens = tokens
        self._audit = audit
        self._ids = ids
        self._secrets = secrets

    @property
    def _clock(self) -> Clock:
        return self._database.clock

    async def create(self, wanted: NewPersonToken, actor: str, approver: Credential | None = None) -> TokenBody:
        """Create a token, which the signer seals for the approver; its secret is returned only here.

        Raises InputError AUTH-001 or AUTH-002, and what the signer raises.
        """
        roles.check_role(wanted.role)
        if not 0 < wanted.valid_s <= MAX_VALID_S:
            raise BAD_VALUE.error(what="the validity in seconds", least=1, most=MAX_VALID_S)
        if not 0 < len(wanted.person) <= 100:
            raise BAD_VALUE.error(what="the length of the person's name", least=1, most=100)
        texts.check("the person's name", wanted.person)
        for environment in wanted.environments:
            texts.check("the environment", environment)
        secret = wire.PersonSecret(self._ids.new(), self._secrets.token_bytes(wire.SECRET_BYTES))
        expires_at = self._clock.now() + timedelta(seconds=wanted.valid_s)
        hashed = wire.hash_secret(secret.secret)
        record = PersonRecord(secret.id, hashed, wanted.person, wanted.role, wanted.environments, expires_at)
        seal = await self._signer.seal_person(record, approver)
        token = PersonToken(secret.id, hashed, wanted.person, wanted.role, wanted.environments, expires_at, seal)
        await self._database.write(self._create, token, actor)
        return TokenBody(secret.id, str(secret), token.expires_at)

    async def recognise(self, text: str) -> Person | None:
        """Return the person whose token this is; None if it is unknown, expired or revoked. Raises InputError WIRE-002 if malformed."""
        shown = wire.parse_person(text)
        token = await self._tokens.find_person_token(shown.id)
        if token is None or not wire.is_secret(shown.secret, token.secret_hash):
            return None
        if token.revoked_at is not None or token.expires_at <= self._clock.now():
            return None
        record = PersonRecord(
            token.id, token.secret_hash, token.person, token.role, token.environments, token.expires_at
        )
        return Person(token.person, token.role, token.environments, Credential(text.strip(), record, token.seal))

    async def list(self) -> list[TokenRow]:
        rows: list[TokenRow] = []
        while page := await self._tokens.list_person_tokens(rows[-1].id if rows else ""):
            rows += [self._row(token) for token in page]
        return rows

    def _row(self, token: PersonToken) -> TokenRow:
        allows = f"{token.role} of {', '.join(token.environments) or 'all environments'}"
        is_valid = token.revoked_at is None and token.expires_at > self._clock.now()
        return TokenRow(token.id, "person", token.person, allows, token.expires_at, is_valid)

    def _create(self, token: PersonToken, actor: str) -> Transaction[None]:
        yield from self._tokens.add_person_token(token, actor)
        yield from self._audit.add(actor, "token.create", token.id, person=token.person, role=token.role)
