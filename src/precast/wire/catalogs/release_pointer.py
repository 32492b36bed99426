"""The release pointer: which catalog was released to a node, signed by the authority.

A run verifies it before it reads the cached catalog: the catalog's exact bytes must have the digest, the pointer must name this node, and
its sequence must not be lower than that of the release applied last. So neither a server's cache nor anything between the authority and
the run can exchange the catalog, give a node that of another one, or lead it back to an older release. A rollback is a new release with a
higher sequence.

A catalog of an entry point, which a plan applies, has a pointer of the same form that names the entry point. It is not released: a
pointer with an entry point is refused where a release is expected, and the other way round.
"""

from datetime import datetime
from typing import Annotated

import msgspec

from precast.base import canonical

# Prefixed to the signed text, so that the signature is not valid for any other kind of document.
_SIGNATURE_PREFIX = b"precast release 1\n"
# The header of a response that has the signed pointer: JSON in base64.
HEADER = "Precast-Release"
MAX_HEADER_CHARS = 8_192

_Text = Annotated[str, msgspec.Meta(max_length=1_000)]


class ReleasePointer(msgspec.Struct, frozen=True):
    """The document that is signed. The sequence grows with every release of the node, also of a node that enrols again."""

    node: _Text
    digest: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    sequence: Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
    release: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]  # its number in the log of releases, for people
    environment: _Text
    version: _Text
    issued_at: datetime
    entry: _Text = ""  # of a catalog that a plan applies: the entry point in its environment; empty for a release


class SignedRelease(msgspec.Struct, frozen=True):
    """A release pointer as it is sent and cached: its exact text, and the authority's signature in base64."""

    release: Annotated[str, msgspec.Meta(max_length=6_000)]
    signature: Annotated[str, msgspec.Meta(max_length=1_000)]


def release_text(pointer: ReleasePointer) -> str:
    return canonical.encode(pointer).decode()


def signed_release_bytes(text: str) -> bytes:
    """The bytes that the signature of a release pointer covers."""
    return _SIGNATURE_PREFIX + text.encode()
