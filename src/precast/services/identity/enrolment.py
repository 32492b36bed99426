"""Enrolment: how a machine becomes a node, renews its certificate, and loses it.

A name with a live certificate never gets another one without `clean`, except for the same key with the same extensions: then our
response was lost. Any other enrolment begins a new life of the node; a renewal does not. A certificate is recorded, with its audit entry
and the use of its token, in one transaction before it is sent.
"""

from datetime import timedelta

from precast.base.clock import Clock
from precast.base.errors import PrecastError
from precast.base.ids import Ids
from precast.services import texts
from precast.services.clocks.guard import ClockGuard
from precast.services.identity import certificates, extensions, issues
from precast.services.identity.issuance import NodeAdmission
from precast.services.identity.recognition import RecognitionService
from precast.services.identity.secret_source import SecretSource
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.messages import Credential, EnrolmentRecord
from precast.services.identity.token_limits import MAX_USES, MAX_VALID_S
from precast.services.issues import BAD_VALUE, NO_SUCH_NODE
from precast.services.sessions.lives import NodeLives
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Certificate, NodeCertificates
from precast.store.identity.tokens import EnrolmentToken, Tokens
from precast.wire.identity import tokens as wire
from precast.wire.identity.bodies import (
    RENEWAL_GRACE,
    CertificateBody,
    EnrolBody,
    NewEnrolmentToken,
    RenewBody,
    TokenBody,
    TokenRow,
)
from precast.wire.identity.names import is_name, matches

# A node needs one certificate in twenty days; a few more for lost answers, reinstallations and attempts.
MAX_ISSUED_PER_DAY = 12


class EnrolmentService:
    """Issues, renews and revokes the certificates of nodes, and manages enrolment tokens."""

    def __init__(
        self,
        database: Database,
        nodes: NodeCertificates,
        tokens: Tokens,
        audit: AuditLog,
        signer: SignerClient,
        recognition: RecognitionService,
        ids: Ids,
        secrets: SecretSource,
        admission: NodeAdmission,
        guard: ClockGuard,
    ) -> None:
        self._database = database
        self._nodes = nodes
        self._tokens = tokens
        self._audit = audit
        self._signer = signer
        self._recognition = recognition
        self._ids = ids
        self._secrets = secrets
        self._admission = admission
        self._guard = guard
        self._lives = NodeLives(database)

    @property
    def _clock(self) -> Clock:
        return self._database.clock

    async def create_token(
        self, wanted: NewEnrolmentToken, actor: str, approver: Credential | None = None
    ) -> TokenBody:
        """Create a token that enrols nodes of a name or pattern; the signer seals it for the approver.

        Raises InputError AUTH-002 or AUTH-004, and what the signer raises.
        """
        extensions.check(wanted.extensions)
        for what, value, most in (
            ("the number of uses", wanted.uses, MAX_USES),
            ("the validity in seconds", wanted.valid_s, MAX_VALID_S),
            ("the length of the pattern", len(wanted.pattern), 253),
        ):
            if not 0 < value <= most:
                raise BAD_VALUE.error(what=what, least=1, most=most)
        texts.check("the pattern", wanted.pattern)
        await self._signer.refresh()
        secret = wire.EnrolmentSecret(
            self._ids.new(), self._secrets.token_bytes(wire.SECRET_BYTES), self._signer.current.fingerprint
        )
        expires_at = self._clock.now() + timedelta(seconds=wanted.valid_s)
        hashed = wire.hash_secret(secret.secret)
        record = EnrolmentRecord(secret.id, hashed, wanted.pattern, wanted.extensions, wanted.uses, expires_at)
        seal = await self._signer.seal_enrolment(record, approver)
        token = EnrolmentToken(
            id=record.id,
            secret_hash=record.secret_hash,
            pattern=record.pattern,
            extensions=record.extensions,
            uses=record.uses,
            uses_left=record.uses,
            expires_at=record.expires_at,
            seal=seal,
        )
        await self._database.write(self._create_token, token, actor)
        return TokenBody(secret.id, str(secret), token.expires_at)

    async def enrol(self, body: EnrolBody, address: str = "") -> CertificateBody:
        """Issue a node's first certificate; `address` is where the request came from.

        Raises InputError for a bad request or token, DeniedError CA-006, ConflictError CA-005. Cancelling is safe.
        """
        request = certificates.read_request(body.request)
        node = certificates.common_name(request)
        shown = wire.parse_enrolment(body.token)
        token = await self._tokens.find_enrolment_token(shown.id)
        # The same error for every reason, so that a client that guesses tokens learns nothing.
        if token is None or not wire.is_secret(shown.secret, token.secret_hash) or not matches(token.pattern, node):
            raise issues.ENROLMENT_DENIED.error(node=node)
        # Checked also for a known key: a revoked token must not return a certificate.
        if token.revoked_at is not None or token.expires_at <= self._clock.now():
            raise issues.ENROLMENT_DENIED.error(node=node)
        # Before the signer counts a use of the token. Checked again under the lock of the node's row.
        key_digest = certificates.key_digest(request)
        await self._database.read(self._check_name, node, key_digest, token)
        issued = await self._signer.enrol(body.request, body.token, _record(token), token.seal)
        await self._database.write(self._enrol, node, token, issued.record, address)
        return CertificateBody(issued.pem, issued.trusted)

    async def renew(self, body: RenewBody) -> CertificateBody:
        """Issue the next certificate to a node that proves to have the key of a certificate that is not revoked or superseded.

        Raises InputError CA-004 for a bad request, LimitedError CA-017 after too many of a day, DeniedError CA-007 for everything else.
        """
        request = certificates.read_request(body.request)
        known = await self._nodes.find(certificates.fingerprint_of_pem(body.certificate))
        if known is None or known.revoked_at is not None or known.node != certificates.common_name(request):
            raise issues.RENEWAL_DENIED.error()
        if known.not_after + RENEWAL_GRACE <= self._clock.now():
            raise issues.RENEWAL_DENIED.error()
        await self._database.read(self._check_rate, known.node)  # before the signer works; counted again under the lock
        # The signer verifies the certificate and the proof, and takes the extensions from the certificate.
        issued = await self._signer.renew(body.request, body.certificate, body.proof)
        if not await self._database.write(self._renew, known, issued.record):
            raise issues.RENEWAL_DENIED.error()
        return CertificateBody(issued.pem, issued.trusted)

    async def revoke(self, node: str, actor: str, why: str) -> list[str]:
        """Revoke a node's certificates; returns their serials. Raises NotFoundError NODE-001 if it has none."""
        return await self._revoke_all(node, actor, "certificate.revoke", why or "revoked")

    async def clean(self, node: str, actor: str, why: str) -> list[str]:
        """Revoke a node's certificates so that its name can be enrolled again."""
        return await self._revoke_all(node, actor, "certificate.clean", why or "cleaned")

    async def _revoke_all(self, node: str, actor: str, action: str, why: str) -> list[str]:
        texts.check("the reason", why)
        if not is_name(node):
            raise NO_SUCH_NODE.error(node=repr(node[:80]))
        return await self._database.write(self._revoke, node, actor, action, why)

    async def revoke_token(self, token_id: str, actor: str) -> None:
        """Revoke a token, for enrolment or of a person. Raises NotFoundError AUTH-003."""
        if not wire.is_id(token_id):
            raise issues.NO_SUCH_TOKEN.error(id=repr(token_id[:80]))
        failure = None
        try:
            await self._signer.revoke_token(token_id)
        except PrecastError as error:
            failure = error
        await self._database.write(self._revoke_token, token_id, actor)
        # Raised last: the server refuses the token even if the signer is away, and the person is told to repeat the command.
        if failure is not None:
            raise failure

    async def list_tokens(self) -> list[TokenRow]:
        rows: list[TokenRow] = []
        while page := await self._tokens.list_enrolment_tokens(rows[-1].id if rows else ""):
            rows += [self._row(token) for token in page]
        return rows

    def _row(self, token: EnrolmentToken) -> TokenRow:
        is_good = token.revoked_at is None and token.expires_at > self._clock.now() and token.uses_left > 0
        marks = "".join(f", {name}={value}" for name, value in sorted(token.extensions.items()))
        return TokenRow(
            token.id, "enrolment", token.pattern, f"{token.uses_left} left{marks}", token.expires_at, is_good
        )

    def _create_token(self, token: EnrolmentToken, actor: str) -> Transaction[None]:
        yield from self._tokens.add_enrolment_token(token, actor)
        yield from self._audit.add(
            actor, "token.create", token.id, pattern=token.pattern, uses=token.uses_left, extensions=token.extensions
        )

    def _check_name(self, node: str, key_digest: str, token: EnrolmentToken) -> Transaction[bool]:
        """Whether the name has a live certificate, of this key and with these extensions. Raises ConflictError CA-005 if of another."""
        live = yield from self._nodes.find_live_key(node, self._guard.since(RENEWAL_GRACE))
        # A request with the same key means that our response was lost, so it costs no further use of the token. It gets the
        # extensions it was given before and no others: otherwise a used-up token would still hand out its extensions.
        if live is not None and (live.digest, live.extensions) != (key_digest, token.extensions):
            raise issues.NAME_TAKEN.error(node=node)
        return live is not None

    def _enrol(self, node: str, token: EnrolmentToken, record: Certificate, address: str) -> Transaction[None]:
        yield from self._nodes.lock_or_create(node)
        if not (yield from self._check_name(node, record.key_digest, token)):
            if not (yield from self._tokens.use_enrolment_token(token.id)):
                raise issues.ENROLMENT_DENIED.error(node=node)
            yield from self._nodes.reactivate(node)
            yield from self._lives.begin(node)
        yield from self._check_rate(node)
        yield from self._nodes.add(record)
        yield from self._admission.admit(node, record.extensions)
        detail = {"serial": record.serial, "token": token.id, "address": address}
        yield from self._audit.add(f"node:{node}", "certificate.enrol", node, **detail)

    def _check_rate(self, node: str) -> Transaction[None]:
        """Raise LimitedError CA-017 if a node has been issued too many certificates. Its row is locked, so this counts all of them."""
        since = self._clock.now() - timedelta(days=1)
        if (yield from self._nodes.count_issued(node, since)) >= MAX_ISSUED_PER_DAY:
            raise issues.ISSUED_TOO_OFTEN.error(node=node, limit=MAX_ISSUED_PER_DAY)

    def _renew(self, known: Certificate, record: Certificate) -> Transaction[bool]:
        yield from self._nodes.lock(known.node)
        # Checked again under the lock of the node's row: the certificate may have been revoked or superseded in the meantime.
        if not (yield from self._nodes.is_valid(known.fingerprint)):
            return False
        # Proving the key counts as a use. A node that did not get our response retries with the same certificate: its successor
        # was not used yet, so it is not superseded.
        if not (yield from self._recognition.record_use(known)):
            return False
        yield from self._check_rate(known.node)
        yield from self._nodes.add(record)
        yield from self._audit.add(
            f"node:{known.node}", "certificate.renew", known.node, serial=record.serial, before=known.serial
        )
        return True

    def _revoke(self, node: str, actor: str, action: str, why: str) -> Transaction[list[str]]:
        serials = yield from self._nodes.revoke(node, why)
        if not serials:
            raise NO_SUCH_NODE.error(node=node)
        yield from self._audit.add(actor, action, node, serials=serials, why=why)
        return serials

    def _revoke_token(self, token_id: str, actor: str) -> Transaction[None]:
        if not (yield from self._tokens.revoke(token_id)):
            raise issues.NO_SUCH_TOKEN.error(id=token_id)
        yield from self._audit.add(actor, "token.revoke", token_id)


def _record(token: EnrolmentToken) -> EnrolmentRecord:
    return EnrolmentRecord(token.id, token.secret_hash, token.pattern, token.extensions, token.uses, token.expires_at)
