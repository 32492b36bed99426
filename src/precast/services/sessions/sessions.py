"""Sessions: which connection may begin one, and where the streams of both sides continue.

A connection holds an epoch. When the node connects again, here or to another server, the epoch increases and records of the older
connection are refused.

A clone is a second machine with the same identity. A node remembers its connection attempts since its last welcome, and the server
remembers the last attempt it saw: a machine that does not know that attempt is a clone, or was restored to an earlier state.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import NamedTuple

from precast.services.sessions import issues
from precast.services.sessions.orders import STREAM_PREFIX
from precast.services.sessions.served_state import NOTHING_SERVED, ServedState
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.sessions.sessions import PreviousSession, Sessions, SessionStart, StreamPosition
from precast.store.sessions.streams import Streams
from precast.wire.sessions import VERSIONS, Hello, choose_version

# A clone that keeps connecting is recorded once in this time.
CLONE_NOTED_FOR = timedelta(hours=1)


class AcceptedSession(NamedTuple):
    """What a node is welcomed with."""

    version: int
    epoch: int
    position: StreamPosition
    facts_digest: str
    served: ServedState = NOTHING_SERVED


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
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._streams = streams
        self._audit = audit
        self._newest_facts = newest_facts
        self._read_served = read_served or _serve_nothing

    async def begin(self, arrival: SessionStart, hello: Hello) -> AcceptedSession:
        """Begin a session.

        Raises ConflictError SESSION-001 for a clone while the node is connected, InputError SESSION-002 without a common version.
        """
        version = choose_version(hello.versions)
        if version is None:
            raise issues.NO_COMMON_VERSION.error(offered=_listed(hello.versions[:8]), known=_listed(VERSIONS))
        start = await self._database.write(self._begin, arrival, hello, version)
        if start is None:
            raise issues.DUPLICATE_NODE.error(node=arrival.node)
        return start

    def _begin(self, arrival: SessionStart, hello: Hello, version: int) -> Transaction[AcceptedSession | None]:
        node = arrival.node
        before = yield from self._sessions.lock(node)
        is_same = _is_same_machine(before, hello)
        if not is_same and (before.is_alive or (yield from self._sessions.is_known_instance(node, hello.instance))):
            yield from self._record_clone(arrival, before)
            if before.is_alive:
                return None
        if before.instance not in ("", hello.instance):
            yield from self._sessions.fence_stream(node, before.instance)
        position, lost = yield from self._open_stream(node, hello)
        if hello.received:
            is_restored = hello.epoch > before.epoch  # our database was restored; or the node was purged
            yield from self._streams.renumber_after(
                STREAM_PREFIX + node, hello.received, hello.received_at, is_restored=is_restored
            )
        epoch = max(before.epoch, hello.epoch) + 1
        yield from self._sessions.begin(arrival, epoch, lost)
        digest = yield from self._newest_facts(node)
        return AcceptedSession(version, epoch, position, digest or "", (yield from self._read_served(node)))

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

    def _record_clone(self, arrival: SessionStart, before: PreviousSession) -> Transaction[None]:
        now = self._database.clock.now()
        if before.clone_at is not None and now - before.clone_at < CLONE_NOTED_FOR:
            return
        yield from self._sessions.mark_clone(arrival.node, arrival.address)
        yield from self._audit.add(
            f"node:{arrival.node}", "session.clone", arrival.node, address=arrival.address, boot_id=arrival.boot_id
        )


def _is_same_machine(before: PreviousSession, hello: Hello) -> bool:
    """Whether this is the machine that was connected last: true for the first one, and for one that knows the last attempt.

    If its epoch is higher than ours, our database was restored to an earlier time.
    """
    if before.epoch == 0 or hello.epoch > before.epoch:
        return True
    return before.instance == hello.instance and before.attempt in hello.attempts


def _serve_nothing(node: str) -> Transaction[ServedState]:
    """For a server without catalogs."""
    yield from ()
    return NOTHING_SERVED


def _listed(versions: Sequence[int]) -> str:
    return ", ".join(map(str, versions)) or "none"
