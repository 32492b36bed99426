"""Stores the records that nodes send, each exactly once.

A node's record and the number up to which its records are stored change in one transaction, so a record that is sent again after a
lost acknowledgement is recognised and skipped. A connection knows the position of its stream. As long as that position is current, no
newer connection of the node exists, and one statement advances the streams of all nodes that send at the same time. Only streams whose
position is stale, or that receive nothing new, are locked and read.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from precast.base.errors import PrecastError
from precast.store.engine.database import Database
from precast.store.engine.interface import Completion
from precast.store.engine.query import Transaction
from precast.store.sessions.sessions import Sessions, Stream, StreamPosition
from precast.wire.sessions import FactsWanted, LossBody, Record

log = logging.getLogger("precast.sessions")


class RecordKind(NamedTuple):
    """How records of one kind are handled: `prepare` may refuse a record, `store` runs inside the transaction and fails for none.

    `store` is given the records of all nodes that send at the same time, each with its node, in order. Kinds with the same `store`
    are stored by one call; of the others, those of a lower rank are stored first. So kinds whose relative order matters for a node
    share `store`, or have different ranks.
    """

    body: type[msgspec.Struct]
    prepare: Callable[[str, Any], Any]
    store: "StoreRecords"
    rank: int = 0


# Returns one entry for each record: what the node is asked to send besides, None, or the reason why the record cannot be used.
StoreRecords = Callable[[Sequence[tuple[str, Any]]], Transaction[Sequence[FactsWanted | PrecastError | None]]]


class RecordSource(msgspec.Struct, frozen=True, gc=False):
    """The stream that records belong to, the epoch of the connection, and the position of the stream if the connection knows it."""

    stream: Stream
    epoch: int
    position: StreamPosition | None


# A record that is ready to be stored. One without a kind cannot be used.
PreparedRecord = tuple["RecordKind | None", Any]


class RecordBatch(msgspec.Struct, frozen=True, gc=False):
    """Records of one connection with their numbers."""

    source: RecordSource
    records: Sequence[tuple[int, PreparedRecord]]


class StoredRecords(msgspec.Struct, frozen=True, gc=False):
    """The outcome for one batch: the new position of the stream. If `has_gap`, the record after that position is missing."""

    position: StreamPosition
    has_gap: bool
    wants: list[FactsWanted]


class RecordIntake:
    """Stores batches of records; holds no state between calls."""

    def __init__(self, database: Database, sessions: Sessions) -> None:
        self._database = database
        self._sessions = sessions

    def submit(
        self,
        source: RecordSource,
        records: Sequence[Record],
        kinds: Mapping[str, RecordKind],
        completion: Completion[StoredRecords | None],
    ) -> None:
        """Store records in their order, each once. The completion gets the outcome, or None if the node has reconnected since: then
        nothing of this batch is stored.

        A record that cannot be used is logged and counted as lost, because sending it again would not help.
        """
        node, _ = source.stream
        prepared = [(record.number, _prepare(node, record, kinds)) for record in records]
        self._database.write_item(self._store_batches, RecordBatch(source, prepared), completion)

    def count_losses(self, losses: Sequence[tuple[str, LossBody]]) -> Transaction[Sequence[FactsWanted | None]]:
        """Count the records that nodes report as dropped."""
        lost: Counter[str] = Counter()
        for node, body in losses:
            lost[node] += body.count
        yield from self._sessions.add_losses(lost)
        return [None] * len(losses)

    def _store_batches(self, batches: Sequence[RecordBatch]) -> Transaction[Sequence[StoredRecords | None]]:
        """Store the batches of all nodes that send at the same time; None for a node that has reconnected since."""
        advanced = yield from self._advance_streams(batches)
        lost: Counter[str] = Counter()
        work: dict[tuple[int, StoreRecords], list[tuple[StoredRecords, str, Any]]] = {}
        for batch, (outcome, new_records) in zip(batches, advanced, strict=True):
            if outcome is None:
                continue
            node, _ = batch.source.stream
            for kind, body in new_records:
                if kind is None:
                    lost[node] += 1
                else:
                    work.setdefault((kind.rank, kind.store), []).append((outcome, node, body))
        for (_, store), bodies in sorted(work.items(), key=lambda item: item[0][0]):
            answers = yield from store([(node, body) for _, node, body in bodies])
            for (outcome, node, _), answer in zip(bodies, answers, strict=True):
                if isinstance(answer, PrecastError):
                    log.error("%s sent a record that cannot be used and is dropped: %s", node, answer)
                    lost[node] += 1
                elif answer is not None:
                    outcome.wants.append(answer)
        if lost:
            yield from self._sessions.add_losses(lost)
        return [outcome for outcome, _ in advanced]

    def _advance_streams(
        self, batches: Sequence[RecordBatch]
    ) -> Transaction[list[tuple[StoredRecords | None, Sequence[PreparedRecord]]]]:
        """Advance each stream by its new records, locked until the commit; returns the outcomes and the new records."""
        known = {
            batch.source.stream: (index, position, step)
            for index, batch in enumerate(batches)
            if (position := batch.source.position) is not None
            and (step := _next_step(batch.records, position.received)).records
        }
        positions, is_complete = yield from self._sessions.advance_streams(
            {stream: (position, step.through) for stream, (_, position, step) in known.items()}
        )
        advanced = {index: (positions[stream], step) for stream, (index, _, step) in known.items()}
        if not is_complete or len(advanced) < len(batches):
            advanced = yield from self._advance_locked_streams(batches, advanced, is_complete)
        return [_outcome(*advanced[index]) if index in advanced else (None, ()) for index in range(len(batches))]

    def _advance_locked_streams(
        self, batches: Sequence[RecordBatch], advanced: "Mapping[int, _Advanced]", is_complete: bool
    ) -> "Transaction[dict[int, _Advanced]]":
        """Do the same, under a lock, for the streams that were not advanced: their position is stale, or nothing is new.

        A batch whose node has reconnected since is left out of the result.
        """
        late = {index: batch for index, batch in enumerate(batches) if index not in advanced or not is_complete}
        locked = yield from self._sessions.lock_streams([batch.source.stream for batch in late.values()])
        reached = {stream: row.position.received for stream, row in locked.items()}
        done = dict(advanced) if is_complete else {}
        steps: dict[int, _Step] = {}
        for index, batch in late.items():
            stream = batch.source.stream
            if stream not in locked or locked[stream].epoch != batch.source.epoch:
                continue
            # A stream at exactly the position that we meant to set was advanced by us.
            if index in advanced and locked[stream].position == advanced[index][0]:
                done[index] = advanced[index]
            else:
                steps[index] = _next_step(batch.records, reached[stream])
                reached[stream] = steps[index].through
        positions, is_complete = yield from self._sessions.advance_streams(
            {
                stream: (locked[stream].position, through)
                for stream, through in reached.items()
                if through != locked[stream].position.received
            }
        )
        assert is_complete, "the streams are locked"
        current = {stream: row.position for stream, row in locked.items()} | positions
        return done | {index: (current[late[index].source.stream], step) for index, step in steps.items()}


class _Step(NamedTuple):
    """The new records of a batch, the number of the last of them, and whether a gap follows it."""

    through: int
    records: Sequence[PreparedRecord]
    has_gap: bool


# The new position of a stream, and the step that led there.
_Advanced = tuple[StreamPosition, _Step]


def _next_step(records: Sequence[tuple[int, PreparedRecord]], through: int) -> _Step:
    """Select the records that follow a number without a gap."""
    new_records: list[PreparedRecord] = []
    for number, prepared in records:
        if number > through + 1:
            return _Step(through, new_records, True)
        if number == through + 1:
            new_records.append(prepared)
            through = number
    return _Step(through, new_records, False)


def _outcome(position: StreamPosition, step: _Step) -> tuple[StoredRecords, Sequence[PreparedRecord]]:
    return StoredRecords(position, step.has_gap, []), step.records


def _prepare(node: str, record: Record, kinds: Mapping[str, RecordKind]) -> PreparedRecord:
    kind = kinds.get(record.kind)
    if kind is None:
        log.error("%s sent a record of unknown kind %r, which is dropped", node, record.kind[:40])
        return None, None
    try:
        return kind, kind.prepare(node, _decoder(kind.body).decode(record.body))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, PrecastError) as error:
        log.error("%s sent a %s record that cannot be used and is dropped: %s", node, record.kind, error)
        return None, None


@cache
def _decoder(body: type[msgspec.Struct]) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(body)
