"""Signs release pointers: which catalog is released to a node, as the node's runs verify it.

A signature lasts for a short time in a cache, because nodes ask again and again for a release that they have. The cache is bounded; a
pointer that is not in it is signed again.
"""

import base64
from collections import OrderedDict
from typing import Protocol

import msgspec

from precast.base.clock import Clock, to_micros
from precast.store.catalogs.released import Release
from precast.wire.catalogs.release_pointer import ReleasePointer, SignedRelease, release_text

MAX_CACHED = 20_000
# After a rotation of the authority, a pointer that the old one has signed is served for at most this time.
MAX_AGE_S = 300.0


class ReleaseSigner(Protocol):
    """The authority, as far as releases need it."""

    async def sign_release(self, release: ReleasePointer) -> str:
        """Return the signature of the pointer's text, in base64. Raises the signer's error."""


class ReleasePointers:
    """Makes the signed pointers of releases."""

    def __init__(self, signer: ReleaseSigner, clock: Clock) -> None:
        self._signer, self._clock = signer, clock
        self._cached: OrderedDict[tuple[str, int], tuple[float, str]] = OrderedDict()

    async def header(self, release: Release) -> str:
        """The signed pointer of a release, as the header of a response has it. Raises the signer's error."""
        sequence = to_micros(release.released_at)
        key, now_s = (release.node, sequence), self._clock.monotonic_s()
        signed_s, value = self._cached.get(key, (0.0, ""))
        if value and now_s - signed_s < MAX_AGE_S:
            return value
        value = base64.b64encode(msgspec.json.encode(await self._sign(release, sequence))).decode()
        self._cached[key] = now_s, value
        self._cached.move_to_end(key)
        while len(self._cached) > MAX_CACHED:
            self._cached.popitem(last=False)
        return value

    async def _sign(self, release: Release, sequence: int) -> SignedRelease:
        pointer = ReleasePointer(
            release.node,
            release.digest,
            sequence,
            release.origin_release,
            release.environment,
            release.version,
            self._clock.now(),
        )
        return SignedRelease(release_text(pointer), await self._signer.sign_release(pointer))
