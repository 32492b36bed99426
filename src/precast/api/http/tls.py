"""The server's side of TLS: each process has its own key and certificate, keeps them in memory, and renews them while it runs.

There are no files, so processes that share a data directory cannot disturb each other. A connection uses the certificate that is current
when it begins, and open connections continue with theirs. The set of trusted authorities changes the same way, so the next handshake
refuses a retired authority.
"""

import asyncio
import logging
import os
import ssl
from collections.abc import Sequence
from datetime import timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from precast.base.clock import Clock
from precast.base.errors import PrecastError
from precast.services.identity import certificates
from precast.services.identity.signer.client import SignerClient

log = logging.getLogger("precast.api")

# Long before the expiry: clocks differ, and a server may be suspended for weeks.
RENEW_BEFORE = timedelta(days=30)
CHECK_EVERY_S = 1.0
EARLY_EVERY_S = 60.0


class ServerTls:
    """The server's certificate and the authorities it trusts; `run` keeps them current."""

    def __init__(
        self,
        signer: SignerClient,
        hosts: Sequence[str],
        clock: Clock,
        context: ssl.SSLContext,
        certificate: x509.Certificate,
    ) -> None:
        self._signer = signer
        self._hosts = hosts
        self._clock = clock
        self._current, self.certificate = context, certificate
        self._made_s = clock.monotonic_s()
        # OpenSSL calls this at every handshake, also if the client sends no server name: only here can the certificate be chosen.
        self.context = context
        self.context.sni_callback = self._choose
        self._signed_by = signer.current
        # A client that was just told about a new or retired authority must find it in effect.
        signer.changed.append(self._renew)

    @classmethod
    async def create(cls, signer: SignerClient, hosts: Sequence[str], clock: Clock) -> "ServerTls":
        """Raises what the signer raises."""
        return cls(signer, hosts, clock, *await _make(signer, hosts))

    async def renew_if_due(self) -> bool:
        """Renew the certificate if it expires soon or the authority has changed. Returns whether it did."""
        try:
            if await self._signer.refresh():
                return True
            is_due = self._is_due()
            if not is_due and self._signed_by is self._signer.current:
                return False
            await self._renew()
        except PrecastError as error:
            # The signer may be restarting: it is asked again in a second.
            log.warning(
                "cannot ask the signer, the previous authority stays in use: %s [%s]", error.message, error.code
            )
            return False
        return True

    def _is_due(self) -> bool:
        now, certificate = self._clock.now(), self.certificate
        # One that begins later was issued while the signer's clock was ahead. The signer is asked seldom: its clock may still be.
        is_early = certificate.not_valid_before_utc > now and self._clock.monotonic_s() - self._made_s >= EARLY_EVERY_S
        return certificate.not_valid_after_utc - RENEW_BEFORE <= now or is_early

    async def _renew(self) -> None:
        authority = self._signer.current
        self._current, self.certificate = await _make(self._signer, self._hosts)
        self._signed_by, self._made_s = authority, self._clock.monotonic_s()

    async def run(self) -> None:
        """Check once a second, for ever."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            await self.renew_if_due()

    def _choose(self, connection: ssl.SSLObject, name: str | None, listening: ssl.SSLContext) -> None:
        connection.context = self._current


async def _make(signer: SignerClient, hosts: Sequence[str]) -> tuple[ssl.SSLContext, x509.Certificate]:
    key = ec.generate_private_key(certificates.CURVE)
    certificate = await signer.certify_server(key.public_key(), hosts)
    authority = signer.current
    chain = "".join(map(certificates.certificate_pem, (certificate, *authority.chain)))
    issuers = "".join(map(certificates.certificate_pem, authority.issuers))
    return _context(chain.encode(), certificates.private_pem(key), issuers), certificate


def _context(chain: bytes, key: bytes, issuers_pem: str) -> ssl.SSLContext:
    """A context for TLS 1.3 with our certificate; a client may present a certificate of one of the issuers.

    Each issuer is an anchor by itself, so an authority above it is not trusted, and neither are that one's other children.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0  # sessions are never resumed, and two tickets cost a third of the handshake
    context.verify_mode = ssl.CERT_OPTIONAL
    # The ssl module reads certificates only from files: these are anonymous files in memory.
    handles = [_in_memory(chain), _in_memory(key)]
    try:
        context.load_cert_chain(*(f"/proc/self/fd/{handle}" for handle in handles))
    finally:
        for handle in handles:
            os.close(handle)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=issuers_pem)
    return context


def _in_memory(data: bytes) -> int:
    handle = os.memfd_create("precast", os.MFD_CLOEXEC)
    os.write(handle, data)
    return handle
