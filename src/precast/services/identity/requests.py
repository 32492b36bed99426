"""Requests that an operator decides on, for machines that have no token.

Anyone may ask, so nothing about a request is believed but that its sender has the key: name and address are for the operator,
who compares the key's fingerprint with what the machine shows. A name that is in use is refused at once. What is signed lies
ready for the same key alone, for a while.
"""

from collections.abc import Mapping
from datetime import timedelta
from ipaddress import IPv6Address, ip_address, ip_network

from cryptography import x509

from precast.base.digests import plain_fingerprint
from precast.services import issues, texts
from precast.services.identity import certificates, extensions
from precast.services.identity.authority_files import HeldAuthority
from precast.services.identity.issuance import GRACE_S, issue
from precast.services.nodes.classification import Classifier
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Certificate, Nodes
from precast.store.identity.requests import EnrolmentRequest, Requests
from precast.wire.identity.bodies import CertificateBody, RequestAnswer, RequestBody
from precast.wire.identity.names import is_name

# How long a request waits, and how long its certificate lies ready.
REQUEST_FOR = timedelta(days=7)
MAX_WAITING = 1000
MAX_WAITING_FROM_ADDRESS = 50
# The usual way to give one host addresses without end is a network of this size.
ONE_HOST_BITS = 64


class RequestService:
    """Takes requests in, and gives certificates for those that are signed."""

    def __init__(
        self,
        database: Database,
        nodes: Nodes,
        requests: Requests,
        audit: AuditLog,
        authority: HeldAuthority,
        classifier: Classifier,
    ) -> None:
        self._database = database
        self._nodes = nodes
        self._requests = requests
        self._audit = audit
        self._authority = authority
        self._classifier = classifier

    async def ask(self, body: RequestBody, address: str) -> RequestAnswer:
        """Let a request wait, or say what came of it. The same key may ask as often as it likes.

        Raises InputError CA-004 or WIRE-001, ConflictError CA-005 for a name in use, DeniedError CA-008 if it was rejected,
        UnavailableError CA-009 if too many wait.
        """
        request = certificates.read_request(body.request)
        node, key = certificates.common_name(request), certificates.key_digest(request)
        found = await self._requests.find(node, key)
        if found is None or await self._is_over(found):
            now = self._database.clock.now()
            found = EnrolmentRequest(
                node, key, certificates.request_pem(request), host_of(address), now, now + REQUEST_FOR
            )
            await self._database.write(self._asking, found)
        if found.rejected_at is not None:
            raise issues.REQUEST_REJECTED.error(node=node)
        if found.certificate is None:
            return RequestAnswer(key, found.expires_at)
        return RequestAnswer(
            key, found.expires_at, CertificateBody(found.certificate.decode(), self._authority.current.pem)
        )

    async def _is_over(self, found: EnrolmentRequest) -> bool:
        """Whether the certificate that lies ready was taken back: then the same key asks anew."""
        if found.certificate is None:
            return False
        serial = certificates.serial_text(x509.load_pem_x509_certificate(found.certificate))
        known = await self._nodes.certificate(serial)
        return known is None or known.revoked_at is not None

    async def waiting(self, after: tuple[str, str], limit: int) -> list[EnrolmentRequest]:
        return await self._requests.waiting(after, limit)

    async def sign(self, node: str, fingerprint: str, given: Mapping[str, str], actor: str) -> str:
        """Give a waiting request its certificate; its serial.

        Raises NotFoundError CA-010, ConflictError CA-005 or CA-011, InputError AUTH-004 for extensions that are none.
        """
        extensions.check(given)
        (chosen,) = await self._choose(node, fingerprint, may_be_several=False)
        request = x509.load_pem_x509_csr(chosen.request)
        issued = issue(self._authority.newest(), request, given, self._database.clock.now())
        await self._database.write(self._signing, chosen, issued.record, issued.pem.encode(), actor)
        return issued.record.serial

    async def reject(self, node: str, fingerprint: str, why: str, actor: str) -> list[str]:
        """Turn down what waits for a name, all of it or one key; the fingerprints. Raises NotFoundError CA-010."""
        texts.check("the reason", why)
        chosen = await self._choose(node, fingerprint, may_be_several=True)
        return await self._database.write(self._rejecting, chosen, why, actor)

    async def _choose(self, node: str, fingerprint: str, *, may_be_several: bool) -> list[EnrolmentRequest]:
        wanted = plain_fingerprint(fingerprint)
        if not is_name(node) or (fingerprint and wanted is None):
            raise issues.NO_SUCH_REQUEST.error(node=repr(node[:80]))
        waiting = await self._database.read(self._requests.waiting_for_name, node)
        chosen = [one for one in waiting if wanted in (None, one.key_digest)]
        if not chosen:
            raise issues.NO_SUCH_REQUEST.error(node=node)
        if len(chosen) > 1 and not may_be_several:
            keys = ", ".join(one.key_digest for one in chosen)
            raise issues.WHICH_REQUEST.error(node=node, count=len(chosen), fingerprints=keys)
        return chosen

    def _asking(self, request: EnrolmentRequest) -> Transaction[None]:
        yield from self._requests.forgetting()
        if (yield from self._nodes.live_key(request.node, GRACE_S)) is not None:
            raise issues.NAME_TAKEN.error(node=request.node)
        # Nobody has the name, so nothing that lies ready for it is of any use.
        yield from self._requests.forgetting_signed(request.node)
        total, here = yield from self._requests.counting(request.address)
        if total >= MAX_WAITING:
            raise issues.TOO_MANY_REQUESTS.error(limit=MAX_WAITING, scope="in all")
        if here >= MAX_WAITING_FROM_ADDRESS:
            raise issues.TOO_MANY_REQUESTS.error(limit=MAX_WAITING_FROM_ADDRESS, scope="from this address")
        if (yield from self._requests.adding(request)):
            yield from self._audit.adding(
                f"address:{request.address}", "certificate.request", request.node, fingerprint=request.key_digest
            )

    def _signing(self, request: EnrolmentRequest, record: Certificate, pem: bytes, actor: str) -> Transaction[None]:
        yield from self._nodes.taking(record.node)
        # Looked at under the node's row: the name may have gone to another meanwhile.
        if (yield from self._nodes.live_key(record.node, GRACE_S)) is not None:
            raise issues.NAME_TAKEN.error(node=record.node)
        ready_until = self._database.clock.now() + REQUEST_FOR
        if not (yield from self._requests.signing(request.node, request.key_digest, pem, ready_until)):
            raise issues.NO_SUCH_REQUEST.error(node=request.node)
        yield from self._nodes.reactivating(record.node)
        yield from self._nodes.adding(record)
        yield from self._classifier.admitting(record.node, record.extensions)
        yield from self._audit.adding(
            actor,
            "certificate.sign",
            record.node,
            serial=record.serial,
            fingerprint=request.key_digest,
            extensions=record.extensions,
        )

    def _rejecting(self, chosen: list[EnrolmentRequest], why: str, actor: str) -> Transaction[list[str]]:
        done = []
        for one in chosen:
            if (yield from self._requests.rejecting(one.node, one.key_digest)):
                done.append(one.key_digest)
                yield from self._audit.adding(
                    actor, "certificate.reject", one.node, fingerprint=one.key_digest, why=why
                )
        if not done:
            raise issues.NO_SUCH_REQUEST.error(node=chosen[0].node)
        return done


def host_of(address: str) -> str:
    """What counts as one address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        if not parsed.is_loopback:
            return str(ip_network((parsed, ONE_HOST_BITS), strict=False))
    return str(parsed)
