"""Turns the facts that a node sent into a received set: decompressed, checked against their digest, and compared with the stored set.

This happens before the transaction, where the facts are at hand and no other writer waits. What cannot be found out here without
waiting, the transaction finds out.
"""

from precast.base import canonical, digests
from precast.base.errors import PrecastError
from precast.services.facts import issues
from precast.services.facts.changes import NoFacts, compare
from precast.store.engine.compression import compress, decompress, decompress_bounded
from precast.store.facts import volatile_parts
from precast.store.facts.facts import UNSTAMPED, Facts, ReceivedFacts, StableComparison
from precast.wire.facts import MAX_COMPRESSION_RATIO, FactUpload
from precast.wire.sessions import MAX_FRAME_BYTES

# What an invalid text or an invalid stream raises; msgspec's errors and UnicodeDecodeError are ValueErrors.
UNREADABLE = (ValueError, RecursionError, NoFacts)


def receive_upload(facts: Facts, node: str, upload: FactUpload) -> ReceivedFacts:
    """The upload as it is stored, compared with the stored set if that can be read without waiting.

    Raises InputError FACTS-001 if the digest is not that of the facts, FACTS-005 or JSON-002 if they are not a mapping; a stable part
    that was not compared is checked by the transaction.
    """
    try:
        volatile = _stored_volatile(upload)
        sent = _sent_stable(upload)
        if sent is None:
            return ReceivedFacts(node, upload.digest, b"", volatile)
        stable = _canonical_stable(node, upload.digest, sent)
        comparison = _compare_stored(facts, node, stable)
    except UNREADABLE as error:
        raise issues.NO_MAPPING.error(node=node, reason=error) from None
    compressed = upload.packed if stable is sent and isinstance(upload.packed, bytes) else compress(stable)
    stable_json = stable if comparison is None else None
    return ReceivedFacts(node, upload.digest, compressed, volatile, UNSTAMPED, stable_json, comparison)


def refuse_unreadable(node: str, upload: FactUpload) -> None:
    """Check a compressed volatile part, for a caller that waits for the answer. Raises InputError FACTS-005."""
    if not isinstance(upload.packed_volatile, bytes):
        return
    try:
        volatile_parts.decode_part(upload.packed_volatile)
    except volatile_parts.UNREADABLE as error:
        raise issues.NO_MAPPING.error(node=node, reason=error) from None


def _sent_stable(upload: FactUpload) -> bytes | None:
    """The stable part as JSON, if the node sent it. Raises ValueError for an invalid stream."""
    if not isinstance(upload.packed, bytes):
        return upload.whole
    return decompress_bounded(upload.packed, min(MAX_COMPRESSION_RATIO * len(upload.packed), MAX_FRAME_BYTES))


def _stored_volatile(upload: FactUpload) -> bytes:
    """The volatile part as it is stored. A part that the node compressed stays as it is and is checked when it is read: it is replaced
    far more often than it is read. Raises msgspec's errors, UnicodeDecodeError, RecursionError, InputError JSON-002."""
    if isinstance(upload.packed_volatile, bytes):
        return upload.packed_volatile
    canonical.decode_mapping(volatile := bytes(upload.volatile))
    return compress(volatile)


def _canonical_stable(node: str, digest: str, stable: bytes) -> bytes:
    """A stable part in the form that has this digest: unchanged if the node sent canonical JSON, which spares encoding it again."""
    if digests.of_bytes(stable) == digest:
        return stable
    stable = canonical.encode(canonical.decode_mapping(stable))
    if digests.of_bytes(stable) != digest:
        raise issues.WRONG_DIGEST.error(node=node)
    return stable


def _compare_stored(facts: Facts, node: str, stable: bytes) -> StableComparison | None:
    """How a stable part differs from the stored one; None if that cannot be found out without waiting. Raises NoFacts."""
    try:
        stored = facts.read_stable_immediately(node)
        return None if stored is None else StableComparison(stored[0], compare(decompress(stored[1]), stable))
    except (PrecastError, ValueError):
        return None
