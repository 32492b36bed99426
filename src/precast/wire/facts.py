"""Facts as nodes send them and the API shows them: a stable part with its digest, and a volatile part that is sent each time.

A node sends the digest and the volatile part. Only if the server does not have that digest, it asks the node for the stable part. So an
unchanged node costs nearly nothing, and a node whose uptime changed costs only its volatile part.

Over its session a node sends both parts compressed, as the server stores them: that is a third of the bytes, and a node can spare the
CPU time better than a server that serves a whole fleet.
"""

import zlib
from datetime import datetime
from typing import Annotated, Any

import msgspec

from precast.base import canonical, digests
from precast.wire.sessions import FACTS, Record

NOTHING = msgspec.Raw(b"{}")
# A part is compressed from this size on, unless its ratio is so high that the receiver would have to fear for its memory.
MIN_COMPRESSED_BYTES = 1024
MAX_COMPRESSION_RATIO = 12
# Not decoded when the message is read, so the bytes are not encoded again.
RawMapping = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "object"})]


class FactUpload(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A node's facts; `stable` only if the server asked for it."""

    digest: Annotated[
        str, msgspec.Meta(max_length=digests.CHARS)
    ]  # the server repeats it when it asks for the stable part
    volatile: RawMapping
    stable: RawMapping | msgspec.UnsetType = msgspec.UNSET
    packed: bytes | msgspec.UnsetType = msgspec.UNSET  # instead of `stable`: the same as a zlib stream
    packed_volatile: bytes | msgspec.UnsetType = msgspec.UNSET  # instead of `volatile`, which is empty then

    @property
    def whole(self) -> bytes | None:
        """The uncompressed stable part, if it was sent."""
        return None if isinstance(self.stable, msgspec.UnsetType) else bytes(self.stable)

    def without_stable(self) -> "FactUpload":
        """The same facts for a server that has the stable part of this digest."""
        return FactUpload(self.digest, self.volatile, packed_volatile=self.packed_volatile)

    def compressed(self) -> "FactUpload":
        """The same facts with each part compressed, unless the part is too small to gain from it."""
        stable = None if self.whole is None else _compress_part(self.whole)
        volatile = _compress_part(bytes(self.volatile))
        body = self if stable is None else msgspec.structs.replace(self, stable=msgspec.UNSET, packed=stable)
        return body if volatile is None else msgspec.structs.replace(body, volatile=NOTHING, packed_volatile=volatile)


def _compress_part(part: bytes) -> bytes | None:
    """Compress a part as a zlib stream; None if the stream would not be smaller on the wire, or suspiciously small."""
    if len(part) < MIN_COMPRESSED_BYTES:
        return None
    stream = zlib.compress(part)
    travels_bytes = len(stream) * 4 // 3 + 4  # as base64
    is_worth_it = travels_bytes < len(part) <= MAX_COMPRESSION_RATIO * len(stream)
    return stream if is_worth_it else None


def make_upload(stable: dict[str, Any], volatile: dict[str, Any]) -> FactUpload:
    """Make the upload of both parts in canonical form, so that the digest can be checked without decoding the facts."""
    encoded = canonical.encode(stable)
    return FactUpload(digests.of_bytes(encoded), msgspec.Raw(canonical.encode(volatile)), msgspec.Raw(encoded))


def compress_facts(record: Record) -> Record:
    """Compress the body of a record that contains facts; every other record is returned unchanged."""
    if record.kind != FACTS:
        return record
    try:
        body = msgspec.json.decode(record.body, type=FactUpload).compressed()
    except ValueError:
        return record  # the server refuses it with a reason
    return msgspec.structs.replace(record, body=msgspec.Raw(msgspec.json.encode(body)))


class FactsAnswer(msgspec.Struct, frozen=True):
    """Whether the node has to send the stable part. If not, the server has stored the facts."""

    wants_stable: bool


class FactsView(msgspec.Struct, frozen=True):
    """The facts of a node, and the decision about them; `volatile` lists paths without history, because they change all the time."""

    node: str
    digest: str
    facts: dict[str, Any]
    received_at: datetime
    decision: str
    decided_at: datetime
    volatile: list[str] = []


class FactChangeRow(msgspec.Struct, frozen=True):
    """How a path changed. `before` or `after` is absent if the fact did not exist."""

    at: datetime
    path: str
    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET


class FactDifference(msgspec.Struct, frozen=True):
    """A path with two values. `left` or `right` is absent if the fact does not exist."""

    path: str
    left: Any = msgspec.UNSET
    right: Any = msgspec.UNSET


class FactsDifference(msgspec.Struct, frozen=True):
    """How two fact sets differ. `left` and `right` name them: two nodes, or two times."""

    left: str
    right: str
    differences: list[FactDifference]


def merge(stable: dict[str, Any], volatile: dict[str, Any]) -> dict[str, Any]:
    """Merge the stable and the volatile part to one mapping."""
    merged = dict(stable)
    for name, value in volatile.items():
        known = merged.get(name)
        merged[name] = merge(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged
