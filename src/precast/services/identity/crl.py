"""The published list of revoked certificates (CRL), for programs other than Precast that accept certificates of nodes.

The server itself looks at its database and needs no list. The list is public, so that answering costs nothing: it is cached, the
database is asked at most every few seconds whether anything was revoked, and the signer only if something was, or if the list ends soon.
"""

import asyncio
import base64
import logging
from datetime import timedelta

from precast.base.clock import Clock
from precast.base.errors import PrecastError
from precast.services.identity.issuance import GRACE_S
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.messages import MAX_ITEMS, Crl, Revocation
from precast.services.identity.signer.revocations import RENEW_BEFORE
from precast.store.identity.revocations import Revocations, RevokedCertificate

log = logging.getLogger("precast.crl")

# How old the answer may be.
CHECK_EVERY_S = 10.0


class CrlService:
    """Answers with the current list."""

    def __init__(self, revocations: Revocations, signer: SignerClient, clock: Clock) -> None:
        self._revocations, self._signer, self._clock = revocations, signer, clock
        self._checking = asyncio.Lock()
        self._checked_s = float("-inf")
        self._stamp: tuple[int, int] | None = None
        self._signed_by = ""
        self._failure: PrecastError | None = None  # of the last check
        self._crl = Crl(b"")
        self._pem = ""  # of the same list, made once: anybody may ask for it

    async def read(self) -> bytes:
        """The list in DER; while the signer or the database does not answer, the last one until it ends.

        Raises UnavailableError CA-030, or that of the database, if there is none, or none that is valid.
        """
        async with self._checking:
            if self._clock.monotonic_s() - self._checked_s >= CHECK_EVERY_S:
                self._failure = None
                try:
                    await self._check()
                except PrecastError as error:
                    if not error.consequence.retry:
                        raise
                    log.warning("the list of revoked certificates cannot be checked: %s", error.message)
                    self._failure = error
                # Also after a failure: anybody may ask, and each would wait for the signer.
                self._checked_s = self._clock.monotonic_s()
        until = self._crl.next_update
        if self._failure is not None and (until is None or until <= self._clock.now()):
            raise self._failure
        return self._crl.der

    async def read_pem(self) -> str:
        await self.read()
        return self._pem

    async def _check(self) -> None:
        stamp, authority = await self._revocations.read_stamp(), self._signer.current.fingerprint
        until = self._crl.next_update
        is_fresh = until is not None and until - RENEW_BEFORE > self._clock.now()
        if is_fresh and (stamp, authority) == (self._stamp, self._signed_by):
            return
        after: RevokedCertificate | None = None
        since = self._clock.now() - timedelta(seconds=GRACE_S)
        while True:
            rows = await self._revocations.list_revoked(after, since, MAX_ITEMS)
            is_last = len(rows) < MAX_ITEMS
            items = [Revocation(row.serial, row.authority, row.revoked_at, row.not_after) for row in rows]
            answer = await self._signer.sign_crl(items, is_last=is_last)
            if is_last:
                break
            after = rows[-1]
        self._crl, self._pem = answer, _encode_pem(answer.der)
        self._stamp, self._signed_by = stamp, authority


def _encode_pem(der: bytes) -> str:
    text = base64.b64encode(der).decode()
    lines = [text[start : start + 64] for start in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN X509 CRL-----", *lines, "-----END X509 CRL-----", ""])
