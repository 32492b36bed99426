"""Requests for certificates that an operator signs or rejects, for machines that have no token.

Anyone may send a request, so it proves only that its sender has the key: name and address are hints for the operator, who compares
the key's fingerprint with the one that the machine shows. A name that is in use is refused at once. A signed certificate can be
fetched for a limited time, and only with the same key.
"""

from collections.abc import Mapping
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from cryptography import x509

from precast.base.digests import parse_fingerprint
from precast.services import texts
from precast.services.clocks.guard import ClockGuard
from precast.services.identity import certificates, extensions, issues
from precast.services.identity.issuance import NodeAdmission
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.messages import Credential
from precast.services.sessions.lives import NodeLives
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Certificate, NodeCertificates
from precast.store.identity.requests import EnrolmentRequest, EnrolmentRequests
from precast.wire.identity.bodies import RENEWAL_GRACE, CertificateBody, RequestAnswer, RequestBody
from precast.wire.identity.names import is_name

# How long a request stays pending, and how long its certificate can be fetched.
REQUEST_FOR = timedelta(days=7)
UNKNOWN = "unknown"
MAX_PENDING = 1000
MAX_PENDING_FROM_ADDRESS = 50
MAX_PENDING_FROM_NETWORK = 250
# One host can use every IPv6 address of a network with this prefix length, so the whole network counts as one address.
ONE_HOST_BITS = 64
# What one site usually has.
NETWORK_BITS = {4: 24, 6: 48}


class RequestService:
    """Receives requests, and returns the certificates of those that an operator has signed."""

    def __init__(
        self,
        database: Database,
        nodes: NodeCertificates,
        requests: EnrolmentRequests,
        audit: AuditLog,
        signer: SignerClient,
        admission: NodeAdmission,
        guard: ClockGuard,
    ) -> None:
        self._database, self._guard = database, guard
        self._nodes = nodes
        self._requests = requests
        self._audit = audit
        self._signer = signer
        self._admission = admission
        self._lives = NodeLives(database)

    async def submit(self, body: RequestBody, address: str) -> RequestAnswer:
        """Store a request, or return the state of an earlier one with the same key. Clients may repeat the call.

        Raises InputError CA-004 or WIRE-001, ConflictError CA-005 for a name in use, DeniedError CA-008 if it was rejected,
        UnavailableError CA-009 if too many are pending.
        """
        request = certificates.read_request(body.request)
        node, key = certificates.common_name(request), certificates.key_digest(request)
        stored = await self._requests.find(node, key)
        if stored is None or await self._is_revoked(stored):
            now = self._database.clock.now()
            stored = EnrolmentRequest(
                node,
                key,
                certificates.request_pem(request),
                host_of(address),
                network_of(address),
                now,
                now + REQUEST_FOR,
            )
            await self._database.write(self._add, stored)
        if stored.rejected_at is not None:
            raise issues.REQUEST_REJECTED.error(node=node)
        if stored.certificate is None:
            return RequestAnswer(key, stored.expires_at)
        return RequestAnswer(
            key, stored.expires_at, CertificateBody(stored.certificate.decode(), self._signer.current.pem)
        )

    async def _is_revoked(self, request: EnrolmentRequest) -> bool:
        """Whether the certificate of a signed request was revoked: then the same key makes a new request."""
        if request.certificate is None:
            return False
        known = await self._nodes.find(certificates.fingerprint(x509.load_pem_x509_certificate(request.certificate)))
        return known is None or known.revoked_at is not None

    async def list_pending(self, after: tuple[str, str], limit: int) -> list[EnrolmentRequest]:
        return await self._requests.list_waiting(after, limit)

    async def sign(
        self, node: str, fingerprint: str, given: Mapping[str, str], actor: str, approver: Credential | None = None
    ) -> str:
        """Issue the certificate for a pending request, which the approver's credential lets the signer sign; returns its serial.

        Raises NotFoundError CA-010, ConflictError CA-005 or CA-011, InputError AUTH-004 for unknown extensions, and what the signer
        raises.
        """
        extensions.check(given)
        (chosen,) = await self._choose(node, fingerprint, may_be_several=False)
        issued = await self._signer.approve(chosen.request.decode(), dict(given), approver)
        await self._database.write(self._sign, chosen, issued.record, issued.pem.encode(), actor)
        return issued.record.serial

    async def reject(self, node: str, fingerprint: str, why: str, actor: str) -> list[str]:
        """Reject the pending requests for a name, all or the one of a key; returns their fingerprints. Raises NotFoundError CA-010."""
        texts.check("the reason", why)
        chosen = await self._choose(node, fingerprint, may_be_several=True)
        return await self._database.write(self._reject, chosen, why, actor)

    async def _choose(self, node: str, fingerprint: str, *, may_be_several: bool) -> list[EnrolmentRequest]:
        wanted = parse_fingerprint(fingerprint)
        if not is_name(node) or (fingerprint and wanted is None):
            raise issues.NO_SUCH_REQUEST.error(node=repr(node[:80]))
        pending = await self._database.read(self._requests.list_waiting_for_name, node)
        chosen = [request for request in pending if wanted in (None, request.key_digest)]
        if not chosen:
            raise issues.NO_SUCH_REQUEST.error(node=node)
        if len(chosen) > 1 and not may_be_several:
            keys = ", ".join(request.key_digest for request in chosen)
            raise issues.AMBIGUOUS_REQUEST.error(node=node, count=len(chosen), fingerprints=keys)
        return chosen

    def _add(self, request: EnrolmentRequest) -> Transaction[None]:
        if not self._guard.is_held:
            yield from self._requests.delete_expired()
        if (yield from self._nodes.find_live_key(request.node, self._guard.since(RENEWAL_GRACE))) is not None:
            raise issues.NAME_TAKEN.error(node=request.node)
        # No live certificate has the name, so certificates that were signed for it earlier are useless.
        yield from self._requests.delete_signed(request.node)
        detail = yield from self._make_room(request)
        if (yield from self._requests.add(request)):
            yield from self._audit.add(
                f"address:{request.address}",
                "certificate.request",
                request.node,
                fingerprint=request.key_digest,
                **detail,
            )

    def _make_room(self, request: EnrolmentRequest) -> Transaction[dict[str, str]]:
        """Raises UnavailableError CA-009 if there is no room. Returns what to add to the audit entry.

        If the list is full, a request of the network that has the most is displaced, unless that network would then have fewer than
        the one of the new request: a flood displaces itself, and a network with one request keeps it.
        """
        total, from_address, from_network = yield from self._requests.count_waiting(request.address, request.network)
        if from_address >= MAX_PENDING_FROM_ADDRESS:
            raise issues.TOO_MANY_REQUESTS.error(limit=MAX_PENDING_FROM_ADDRESS, scope="from this address")
        if from_network >= MAX_PENDING_FROM_NETWORK:
            raise issues.TOO_MANY_REQUESTS.error(limit=MAX_PENDING_FROM_NETWORK, scope="from this network")
        if total < MAX_PENDING:
            return {}
        displaced = yield from self._requests.displace(at_least=from_network + 2)
        if displaced is None:
            raise issues.TOO_MANY_REQUESTS.error(limit=MAX_PENDING, scope="in all")
        return {"displaced": displaced}

    def _sign(self, request: EnrolmentRequest, record: Certificate, pem: bytes, actor: str) -> Transaction[None]:
        yield from self._nodes.lock_or_create(record.node)
        # Checked under the lock of the node's row: another key may have got the name in the meantime.
        if (yield from self._nodes.find_live_key(record.node, self._guard.since(RENEWAL_GRACE))) is not None:
            raise issues.NAME_TAKEN.error(node=record.node)
        available_until = self._database.clock.now() + REQUEST_FOR
        if not (yield from self._requests.mark_signed(request.node, request.key_digest, pem, available_until)):
            raise issues.NO_SUCH_REQUEST.error(node=request.node)
        yield from self._nodes.reactivate(record.node)
        yield from self._lives.begin(record.node)
        yield from self._nodes.add(record)
        yield from self._admission.admit(record.node, record.extensions)
        yield from self._audit.add(
            actor,
            "certificate.sign",
            record.node,
            serial=record.serial,
            fingerprint=request.key_digest,
            extensions=record.extensions,
        )

    def _reject(self, chosen: list[EnrolmentRequest], why: str, actor: str) -> Transaction[list[str]]:
        rejected = []
        for request in chosen:
            if (yield from self._requests.mark_rejected(request.node, request.key_digest)):
                rejected.append(request.key_digest)
                yield from self._audit.add(
                    actor, "certificate.reject", request.node, fingerprint=request.key_digest, why=why
                )
        if not rejected:
            raise issues.NO_SUCH_REQUEST.error(node=chosen[0].node)
        return rejected


def host_of(address: str) -> str:
    """The network that counts as one sender: an IPv4 address, or the IPv6 network of a host."""
    parsed = _parse(address)
    if isinstance(parsed, IPv6Address) and not parsed.is_loopback:
        return str(ip_network((parsed, ONE_HOST_BITS), strict=False))
    return str(parsed or UNKNOWN)


def network_of(address: str) -> str:
    """The network of a site around an address."""
    parsed = _parse(address)
    return UNKNOWN if parsed is None else str(ip_network((parsed, NETWORK_BITS[parsed.version]), strict=False))


def _parse(address: str) -> IPv4Address | IPv6Address | None:
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return mapped or parsed
