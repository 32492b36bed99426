"""Facts on their way: a stable part known by its digest, and a volatile part that is sent each time.

A node sends the digest and the volatile part. Only if the server does not have that digest is it told so, and sends the stable
part as well. So an unchanged node costs nearly nothing, and one whose uptime moved costs that.

Over its session a node sends both parts packed, as the server keeps them: that is a third of the bytes, and a node has more time for it
than a server has for a fleet's.
"""

import zlib
from datetime import datetime
from typing import Annotated, Any

import msgspec

from precast.base import canonical, digests
from precast.wire.sessions import FACTS, WITH_PACKED_FACTS, WITH_PACKED_VOLATILE, Record

NULL = msgspec.Raw(b"null")
NOTHING = msgspec.Raw(b"{}")
# A part is packed if it is larger, and not so well that whoever unpacks it had to fear for its memory.
PACKED_FROM_BYTES = 1024
MAX_PACKED_TIMES = 12
# Not taken apart where it is read: who has the bytes does not make them again.
RawMapping = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "object"})]
OptionalRawMapping = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": ["object", "null"]})]


class FactsBody(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A node's facts; `stable` only if the server asked for it."""

    digest: Annotated[str, msgspec.Meta(max_length=digests.CHARS)]  # it is said again to whom it is wanted of
    volatile: RawMapping
    stable: OptionalRawMapping | msgspec.UnsetType = msgspec.UNSET
    packed: bytes | msgspec.UnsetType = msgspec.UNSET  # in place of `stable`: the same as a zlib stream
    packed_volatile: bytes | msgspec.UnsetType = msgspec.UNSET  # the same in place of `volatile`, which is empty then

    @property
    def whole(self) -> bytes | None:
        """The stable part, if it came."""
        return None if isinstance(self.stable, msgspec.UnsetType) or self.stable == NULL else bytes(self.stable)

    def without_stable(self) -> "FactsBody":
        """The same for a server that knows the digest."""
        return FactsBody(self.digest, self.volatile, packed_volatile=self.packed_volatile)

    def with_stable_packed(self) -> "FactsBody":
        """The same as it travels, if that is worth it."""
        stream = None if self.whole is None else _packed(self.whole)
        return self if stream is None else msgspec.structs.replace(self, stable=msgspec.UNSET, packed=stream)

    def with_volatile_packed(self) -> "FactsBody":
        """The same with the volatile part as it travels, if that is worth it."""
        stream = _packed(bytes(self.volatile))
        return self if stream is None else msgspec.structs.replace(self, volatile=NOTHING, packed_volatile=stream)


def _packed(part: bytes) -> bytes | None:
    """As a zlib stream, if that is worth it."""
    if len(part) < PACKED_FROM_BYTES:
        return None
    stream = zlib.compress(part)
    travels_bytes = len(stream) * 4 // 3 + 4  # as base64
    is_worth_it = travels_bytes < len(part) <= MAX_PACKED_TIMES * len(stream)
    return stream if is_worth_it else None


def facts_body(stable: dict[str, Any], volatile: dict[str, Any]) -> FactsBody:
    """Facts as they are sent whole: in canonical form, whose digest can be looked at without taking them apart."""
    known = canonical.encode(stable)
    return FactsBody(digests.of_bytes(known), msgspec.Raw(canonical.encode(volatile)), msgspec.Raw(known))


def travelling(record: Record, version: int) -> Record:
    """A node's record as it is sent to a server that speaks this version: one that takes facts packed gets them so."""
    if record.kind != FACTS or version < WITH_PACKED_FACTS:
        return record
    try:
        body = msgspec.json.decode(record.body, type=FactsBody).with_stable_packed()
    except ValueError:
        return record  # the server says what it thinks of it
    if version >= WITH_PACKED_VOLATILE:
        body = body.with_volatile_packed()
    return msgspec.structs.replace(record, body=msgspec.Raw(msgspec.json.encode(body)))


class FactsAnswer(msgspec.Struct, frozen=True):
    """Whether the stable part is wanted. If not, everything is kept."""

    wants_stable: bool


class FactsView(msgspec.Struct, frozen=True):
    """The facts of a node, and what came of them; `volatile` are paths without history because they change all the time."""

    node: str
    digest: str
    facts: dict[str, Any]
    received_at: datetime
    decision: str
    decided_at: datetime
    volatile: list[str] = []


class FactChangeRow(msgspec.Struct, frozen=True):
    """How a path changed. `before` or `after` is absent if there was nothing."""

    at: datetime
    path: str
    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET


class FactDifference(msgspec.Struct, frozen=True):
    """A path with two values. `left` or `right` is absent if there is nothing."""

    path: str
    left: Any = msgspec.UNSET
    right: Any = msgspec.UNSET


class FactsDifference(msgspec.Struct, frozen=True):
    """How facts differ, and what the two sides are: nodes, or moments."""

    left: str
    right: str
    differences: list[FactDifference]


def merge(stable: dict[str, Any], volatile: dict[str, Any]) -> dict[str, Any]:
    """Both parts as one."""
    merged = dict(stable)
    for name, value in volatile.items():
        known = merged.get(name)
        merged[name] = merge(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged
