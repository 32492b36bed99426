"""Chained entries of the audit log, as they are stored, sent and checked.

Every process that writes has a chain of its own. An entry has its position in the chain, the hash of the entry before it, and its own
hash, which covers that hash, its position and every other column. So an entry that is changed, removed or moved breaks the chain at its
place. Whoever can write to the database can also compute hashes: only a head that was exported before shows that a chain was rewritten or
cut off at its end.
"""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec

from precast.base import canonical, digests
from precast.base.clock import to_micros

# What the first entry of a chain has instead of the hash of an earlier one.
BEGINNING = ""


class ChainedEntry(msgspec.Struct, frozen=True):
    """One entry with its place in a chain. `detail` is the stored text, because the hash covers its exact bytes."""

    id: str
    at: datetime
    actor: str
    action: str
    target: str
    detail: str
    chain: str
    sequence: int
    previous: str
    hash: str

    def compute_hash(self) -> str:
        digest = digest_columns(
            self.id, to_micros(self.at), self.actor, self.action, self.target, self.detail.encode(), self.chain
        )
        return hash_entry(self.previous, self.sequence, digest)


class ChainHead(msgspec.Struct, frozen=True):
    """The newest entry of a chain: how many entries there are, and its hash."""

    chain: str
    sequence: int
    hash: str


class ChainPage(msgspec.Struct, frozen=True):
    """Some entries of a chain in order, and the head of the chain at the same moment."""

    head: ChainHead
    entries: list[ChainedEntry]
    is_last: bool


class ChainFault(NamedTuple):
    """The first thing that is wrong with a chain, and the entry where it shows, if there is one."""

    chain: str
    sequence: int
    reason: str
    entry: ChainedEntry | None = None


def digest_columns(id_: str, at: int, actor: str, action: str, target: str, detail: bytes, chain: str) -> str:
    """The digest of every column but the place in the chain, which the database determines when it adds the entry."""
    columns = [id_, at, actor, action, target, digests.of_bytes(detail), chain]
    return digests.of_bytes(canonical.encode(columns))


def hash_entry(previous: str, sequence: int, digest: str) -> str:
    """The hash of an entry. The database computes the same: see `APPEND` in `store/identity/audit`."""
    return hashlib.sha256(f"{previous} {sequence} {digest}".encode()).hexdigest()


class ChainChecker:
    """Checks the entries of one chain in order, from the first, also against heads that were exported earlier."""

    def __init__(self, chain: str, exported: Mapping[int, str]) -> None:
        self._chain = chain
        self._exported = exported
        self._last = ChainHead(chain, 0, BEGINNING)

    @property
    def count(self) -> int:
        return self._last.sequence

    def check(self, entries: Iterable[ChainedEntry]) -> ChainFault | None:
        """Check the next entries. After a fault the checker is of no further use."""
        for entry in entries:
            reason = self._find_fault(entry)
            if reason:
                return ChainFault(self._chain, self._last.sequence + 1, reason, entry)
            self._last = ChainHead(self._chain, entry.sequence, entry.hash)
        return None

    def finish(self, head: ChainHead) -> ChainFault | None:
        """Check the end, against the stored head and the exported ones."""
        last = self._last
        if (head.sequence, head.hash) != (last.sequence, last.hash):
            reason = f"the chain ends with entry {last.sequence}, and its stored head is {head.sequence}"
            return ChainFault(self._chain, last.sequence + 1, reason)
        missing = [sequence for sequence in self._exported if sequence > last.sequence]
        if missing:
            reason = f"the chain ends with entry {last.sequence}, and entry {min(missing)} was exported as its head"
            return ChainFault(self._chain, last.sequence + 1, reason)
        return None

    def _find_fault(self, entry: ChainedEntry) -> str:
        """What is wrong with an entry; empty if nothing is."""
        expected = self._last.sequence + 1
        if entry.sequence != expected:
            return f"entry {expected} is missing"
        if entry.chain != self._chain or entry.previous != self._last.hash:
            return "it does not follow the entry before it"
        if entry.hash != entry.compute_hash():
            return "it was changed"
        if self._exported.get(entry.sequence, entry.hash) != entry.hash:
            return "it is not the entry that was exported as the head"
        return ""
