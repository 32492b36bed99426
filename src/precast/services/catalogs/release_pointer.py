"""Signs release pointers: which catalog is released to a node, as the node's runs verify it, and which one a job holds for it.

A signature lasts for a short time in a cache, because nodes ask again and again for a release that they have. The cache is bounded; a
pointer that is not in it is signed again.
"""

import base64
from collections import OrderedDict
from typing import Protocol

import msgspec

from precast.base.clock import Clock, to_micros
from precast.store.catalogs.entry_holds import EntryHold
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
    """Makes the signed pointers of releases, and of the catalogs of entry points."""

    def __init__(self, signer: ReleaseSigner, clock: Clock) -> None:
        self._signer, self._clock = signer, clock
        self._cached: OrderedDict[tuple[str, str, str, int], tuple[float, str]] = OrderedDict()

    async def header(self, release: Release) -> str:
        """The signed pointer of a release, as the header of a response has it. Raises the signer's error."""
        return await self._header(
            ReleasePointer(
                release.node,
                release.digest,
                to_micros(release.released_at),
                release.origin_release,
                release.environment,
                release.version,
                self._clock.now(),
            )
        )

    async def entry_header(self, hold: EntryHold) -> str:
        """The signed pointer of a held catalog of an entry point. It names that entry point, so it is none of a release."""
        return await self._header(
            ReleasePointer(
                hold.node,
                hold.digest,
                to_micros(hold.held_at),
                0,
                hold.environment,
                hold.version,
                self._clock.now(),
                hold.entry,
            )
        )

    async def _header(self, pointer: ReleasePointer) -> str:
        key = (pointer.node, pointer.entry, pointer.digest, pointer.sequence)
        now_s = self._clock.monotonic_s()
        signed_s, value = self._cached.get(key, (0.0, ""))
        if value and now_s - signed_s < MAX_AGE_S:
            return value
        signed = SignedRelease(release_text(pointer), await self._signer.sign_release(pointer))
        value = base64.b64encode(msgspec.json.encode(signed)).decode()
        self._cached[key] = now_s, value
        self._cached.move_to_end(key)
        while len(self._cached) > MAX_CACHED:
            self._cached.popitem(last=False)
        return value
