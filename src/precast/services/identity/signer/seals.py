"""Seals: proof that the signer itself has approved a record which the database stores.

A seal is a keyed hash over the sort of the record and its canonical form. Its key is a file of its own beside the authority's key, so
that seals stay valid when the authority is rotated.
"""

import hashlib
import hmac

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from precast.base import canonical, digests
from precast.base.digests import Digest
from precast.services.identity.signer.messages import (
    Command,
    CommandRecord,
    EnrolmentRecord,
    PersonRecord,
    PolicyRecord,
    StandingRecord,
)
from precast.wire.jobs.orders import ExecOrder, TaskOrder

SealedRecord = PersonRecord | EnrolmentRecord | PolicyRecord | CommandRecord | StandingRecord
# In front of the record, so that a seal of one sort of record is not valid for another.
_PREFIXES: dict[type[SealedRecord], bytes] = {
    PersonRecord: b"precast seal 1 person\n",
    EnrolmentRecord: b"precast seal 1 enrolment\n",
    PolicyRecord: b"precast seal 1 policy\n",
    CommandRecord: b"precast seal 1 command\n",
    StandingRecord: b"precast seal 1 standing command\n",
}


def digest_command(command: Command) -> Digest:
    """The digest of a command, of which each node's record has one: so sealing for many nodes reads a long command once."""
    return digests.of_value(command)


def command_of(order: ExecOrder | TaskOrder) -> Command:
    """The command of an order to a node. The inputs of a task, and the catalogs it applies, are no part of it."""
    if isinstance(order, TaskOrder):
        return Command([], order.timeout_s, order.output_bytes, order.why, order.program)
    return Command(order.argv, order.timeout_s, order.output_bytes, order.why)


class SealKey:
    """Makes and checks seals."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        derivation = HKDF(hashes.SHA256(), length=32, salt=None, info=b"precast seal key 1")
        self._key = derivation.derive(key.private_bytes_raw())

    def seal(self, record: SealedRecord) -> bytes:
        # Bytes are not JSON; msgspec turns them into base64, which is canonical.
        text = canonical.encode(msgspec.to_builtins(record))
        return hmac.digest(self._key, _PREFIXES[type(record)] + text, hashlib.sha256)

    def is_sealed(self, record: SealedRecord, seal: bytes) -> bool:
        return hmac.compare_digest(self.seal(record), seal)
