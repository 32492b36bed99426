"""Verifies the release pointer before anything of a catalog is used: signature, node, digest of the exact bytes, and sequence.

The pointer is verified when it is received and again by every run of the cached catalog, which is root and does not rely on what wrote
the files. Needs `cryptography`, so the daemon never imports it.
"""

import base64
import binascii
from pathlib import Path

import msgspec

from precast.agent import issues
from precast.agent.catalog.cached_release import next_release_path, release_path
from precast.agent.catalog.signatures import is_signed
from precast.agent.identity.enrolment import Identity
from precast.base import digests
from precast.wire.catalogs.release_pointer import (
    MAX_HEADER_CHARS,
    ReleasePointer,
    SignedRelease,
    signed_release_bytes,
)


def decode_header(value: str) -> SignedRelease:
    """Decode the header of a response. Raises DeniedError AGENT-019 if it is not a signed release pointer."""
    if not value:
        raise issues.RELEASE_REFUSED.error(reason="the server sent a catalog without one")
    try:
        if len(value) > MAX_HEADER_CHARS:
            raise ValueError("too long")
        return msgspec.json.decode(base64.b64decode(value, validate=True), type=SignedRelease)
    except (binascii.Error, msgspec.MsgspecError, ValueError):
        raise issues.RELEASE_REFUSED.error(reason="it is not a signed document") from None


def verify(root: Path, signed: SignedRelease, entry: str = "") -> ReleasePointer:
    """Decode a pointer that is for this node and signed by an authority that this node trusts.

    It is that of a release, or of the catalog of an entry point if one is given. Raises DeniedError AGENT-019.
    """
    identity = Identity(root)
    if not is_signed(identity.authority, signed_release_bytes(signed.release), signed.signature):
        raise issues.RELEASE_REFUSED.error(reason="it is not signed by an authority that this node trusts")
    try:
        pointer = msgspec.json.decode(signed.release, type=ReleasePointer)
    except msgspec.MsgspecError:
        raise issues.RELEASE_REFUSED.error(reason="a newer Precast has written it") from None
    if pointer.node != identity.name():
        raise issues.RELEASE_REFUSED.error(reason=f"it is for {pointer.node}, and this node is {identity.name()}")
    if pointer.entry != entry:
        found, wanted = (f"the entry point {name}" if name else "a release" for name in (pointer.entry, entry))
        raise issues.RELEASE_REFUSED.error(reason=f"it is of {found}, not of {wanted}")
    return pointer


def check_sequence(pointer: ReleasePointer, applied: int) -> None:
    """Raises DeniedError AGENT-019 if a newer release than this one was applied."""
    if pointer.sequence < applied:
        reason = f"it is older than the release applied last (its sequence is {pointer.sequence}, that of the other {applied})"
        raise issues.RELEASE_REFUSED.error(reason=reason)


def check_cached_catalog(root: Path, catalog: bytes, applied: int) -> ReleasePointer:
    """Verify that the cached catalog is the one released to this node, and not an older one. Call it before the catalog is parsed.

    Raises DeniedError AGENT-019.
    """
    pointer = _find_pointer(root, catalog)
    check_digest(pointer, catalog)
    check_sequence(pointer, applied)
    return pointer


def _find_pointer(root: Path, catalog: bytes) -> ReleasePointer:
    """The cached pointer, or if the node was stopped during a fetch, the one that was to replace it."""
    pointer = _read_pointer(root, release_path(root))
    if pointer is None or pointer.digest != digests.of_bytes(catalog):
        pointer = _read_pointer(root, next_release_path(root)) or pointer
    if pointer is None:
        raise issues.RELEASE_REFUSED.error(reason="the cached catalog has none")
    return pointer


def _read_pointer(root: Path, path: Path) -> ReleasePointer | None:
    try:
        return verify(root, msgspec.json.decode(path.read_bytes(), type=SignedRelease))
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        raise issues.RELEASE_REFUSED.error(reason=f"{path} cannot be read") from None


def check_digest(pointer: ReleasePointer, catalog: bytes) -> None:
    """Raises DeniedError AGENT-019 if the pointer names another catalog."""
    digest = digests.of_bytes(catalog)
    if digest != pointer.digest:
        reason = f"it names the catalog {pointer.digest[:12]}, and this one is {digest[:12]}"
        raise issues.RELEASE_REFUSED.error(reason=reason)
