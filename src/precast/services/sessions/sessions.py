"""Sessions: which connection may begin one, and where the streams of both sides continue.

A connection holds an epoch. When the node connects again, here or to another server, the epoch increases and records of the older
connection are refused.

A machine that is not the one that was connected last, or is in an earlier state (`copies`), begins no session: the node is put on hold
until an operator has chosen (`machines`).
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import NamedTuple, Protocol

import msgspec

from precast.base.errors import PrecastError
from precast.services.sessions import issues
from precast.services.sessions.copies import Verdict, judge, next_epoch, remember
from precast.services.sessions.machines import MachineService
from precast.services.sessions.orders import STREAM_PREFIX
from precast.services.sessions.served_state import NOTHING_SERVED, ServedState
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.sessions.sessions import PreviousSession, Sessions, SessionStart, StreamPosition
from precast.store.sessions.streams import Streams
from precast.store.sessions.terms import find_term
from precast.wire.sessions import VERSIONS, Hello, choose_version

# A node that was away for a shorter time and was not started meanwhile has not returned: its connection was interrupted.
AWAY = timedelta(minutes=1)


class NodeEvents(Protocol):
    """Is told what a new session means, as part of the transaction in which it begins."""

    def node_returned(self, node: str) -> Transaction[None]:
        """A node has connected again after it was away, or was started."""

    def node_enrolled(self, node: str) -> Transaction[None]:
        """A node has connected for the first time since it was enrolled."""


class AcceptedSession(NamedTuple):
    """What a node is welcomed with."""

    version: int
    epoch: int
    position: StreamPosition
    facts_digest: str
    served: ServedState = NOTHING_SERVED
    term: int = 0


class SessionService:
    """Begins sessions; holds no state between calls."""

    def __init__(
        self,
        database: Database,
        sessions: Sessions,
        streams: Streams,
        audit: AuditLog,
        newest_facts: Callable[[str], Transaction[str | None]],
        read_served: Callable[[str], Transaction[ServedState]] | None = None,
        events: NodeEvents | None = None,
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._streams = streams
        self._machines = MachineService(database, sessions, audit)
        self._newest_facts = newest_facts
        self._read_served = read_served or _serve_nothing
        self._events = events

    async def begin(self, arrival: SessionStart, hello: Hello) -> AcceptedSession:
        """Begin a session.

        Raises ConflictError SESSION-001 for a machine that an operator has refused, SESSION-008 for a node that is on hold, SESSION-009
        for a hello that was overtaken by another one, SESSION-011 if the node knows a newer database of this site, InputError SESSION-002
        without a common version.
        """
        version = choose_version(hello.versions)
        if version is None:
            raise issues.NO_COMMON_VERSION.error(offered=_listed(hello.versions[:8]), known=_listed(VERSIONS))
        start = await self._database.write(self._begin, arrival, hello, version)
        if isinstance(start, PrecastError):
            raise start
        return start

    def _begin(self, arrival: SessionStart, hello: Hello, version: int) -> Transaction[AcceptedSession | PrecastError]:
        node = arrival.node
        term = yield from find_term(self._database.clock.now())
        if hello.term > term:
            return issues.OLD_TERM.error(term=term, newer=hello.term)
        before = yield from self._sessions.lock(node)
        received = yield from self._sessions.find_received(node, hello.instance)
        verdict = judge(before, hello, received)
        # Returned, not raised: what was written down about the machine must be committed.
        if verdict is Verdict.OVERTAKEN:
            return issues.OVERTAKEN_HELLO.error(node=node)
        is_other = verdict is Verdict.OTHER or (yield from self._machines.is_refused(node, before, hello))
        if before.held_at is not None or is_other:
            return (yield from self._machines.refuse(arrival, hello, before))
        if before.instance not in ("", hello.instance):
            yield from self._sessions.fence_stream(node, before.instance)
        position, lost = yield from self._open_stream(node, hello)
        if received is None:
            yield from self._sessions.forget_streams(node, hello.instance)
        if hello.received:
            is_restored = hello.epoch > before.epoch  # our database was restored; or the node was purged
            yield from self._streams.renumber_after(
                STREAM_PREFIX + node, hello.received, hello.received_at, is_restored=is_restored
            )
        epoch = next_epoch(before, hello)
        attempts = remember(before.attempts, hello)
        yield from self._sessions.begin(msgspec.structs.replace(arrival, attempts=attempts), epoch, lost)
        yield from self._tell(arrival, before)
        digest = yield from self._newest_facts(node)
        return AcceptedSession(version, epoch, position, digest or "", (yield from self._read_served(node)), term)

    def _tell(self, arrival: SessionStart, before: PreviousSession) -> Transaction[None]:
        if self._events is None:
            return
        if not before.attempts:
            yield from self._events.node_enrolled(arrival.node)
            return
        away_since, now = before.away_since, self._database.clock.now()
        if before.boot_id != arrival.boot_id or (away_since is not None and now - away_since >= AWAY):
            yield from self._events.node_returned(arrival.node)

    def _open_stream(self, node: str, hello: Hello) -> Transaction[tuple[StreamPosition, int]]:
        """Find where the node's stream of records continues, and how many of its records are lost."""
        stream = (node, hello.instance)
        position = yield from self._sessions.open_stream(*stream)
        # A local store that was restored continues from its own last number; one that had to drop records continues after a gap.
        lost = max(0, hello.first - 1 - position.received)
        through = min(max(position.received, hello.first - 1), max(hello.last, hello.first - 1))
        if through != position.received:
            positions, _ = yield from self._sessions.advance_streams({stream: (position, through)})
            position = positions[stream]
        return position, lost


def _serve_nothing(node: str) -> Transaction[ServedState]:
    """For a server without catalogs."""
    yield from ()
    return NOTHING_SERVED


def _listed(versions: Sequence[int]) -> str:
    return ", ".join(map(str, versions)) or "none"
