"""Sessions: who may begin one, and how records get across exactly once.

A node's record and the number up to which its records are stored change in one transaction, so a record that comes again after a
lost acknowledgement is known and skipped. A connection holds an epoch; when the node has come anew, elsewhere or here, whatever
the older connection still brings is refused. It also knows where its stream stands: as long as that is so, nobody has come, and one
statement moves on the streams of everybody who sends at a moment.

A clone is a second machine with the same identity. A node remembers its attempts since it was last welcomed, we remember the last
attempt we saw: who does not know that one is somebody else, or was set back to an earlier state.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any, NamedTuple

import msgspec

from precast.base import canonical
from precast.base.errors import PrecastError
from precast.services import issues
from precast.services.sessions.served import NOTHING, Served
from precast.store.engine.database import Database
from precast.store.engine.promise import Promise
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Nodes
from precast.store.sessions.sessions import Arrival, Previous, Sessions, Stand, Stream
from precast.store.sessions.streams import Streams
from precast.wire import sessions as session
from precast.wire.sessions import VERSIONS, Hello, LossBody, Record, Want, choose_version

log = logging.getLogger("precast.sessions")

# Of the streams that hold what is for nodes.
PREFIX = "agent."
# For one node; the next is refused with STREAM-001 until the node has taken some.
MAX_ORDERS = 1_000
# A clone that keeps coming is written down once in this time.
CLONE_NOTED_FOR = timedelta(hours=1)


class RecordKind(NamedTuple):
    """What is done with one kind of record. `prepare` may refuse it; `taking` is part of the transaction, and fails for none of them.

    It is given what came of all nodes at one moment, each with its node, in order. Kinds that share it are taken together; of others
    those of a lower rank are taken first. So kinds of which a node's order matters share it, or have ranks.
    """

    body: type[msgspec.Struct]
    prepare: Callable[[str, Any], Any]
    taking: "Taking"
    rank: int = 0


# For each what is wanted besides, nothing, or why it cannot be used after all.
Taking = Callable[[Sequence[tuple[str, Any]]], Transaction[Sequence[Want | PrecastError | None]]]


class Source(msgspec.Struct, frozen=True, gc=False):
    """Where records come from: a node's local store, over a connection that knows where its stream stands, or does not."""

    stream: Stream
    epoch: int
    stand: Stand | None


# A record as it is to be stored; one without a kind cannot be used.
Prepared = tuple["RecordKind | None", Any]


class Came(msgspec.Struct, frozen=True, gc=False):
    """Records of one connection with their numbers."""

    source: Source
    records: Sequence[tuple[int, Prepared]]


class Begun(NamedTuple):
    """A session's beginning."""

    version: int
    epoch: int
    stand: Stand
    facts_digest: str
    served: Served = NOTHING


class Taken(msgspec.Struct, frozen=True, gc=False):
    """What became of a node's records: where its stream stands now, the next one missing if `has_gap`."""

    stand: Stand
    has_gap: bool
    wants: list[Want]


class SetBack(Exception):
    """The database is at an earlier time than it was: it may give numbers to new orders that the node has for others. A node that comes
    anew says what it has."""


class SessionService:
    """Begins sessions and carries records, both ways."""

    def __init__(
        self,
        database: Database,
        sessions: Sessions,
        nodes: Nodes,
        streams: Streams,
        audit: AuditLog,
        newest_facts: Callable[[str], Transaction[str | None]],
        serving: Callable[[str], Transaction[Served]] | None = None,
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._nodes = nodes
        self._streams = streams
        self._audit = audit
        self._newest_facts = newest_facts
        self._serving = serving or _serving_nothing

    async def begin(self, arrival: Arrival, hello: Hello) -> Begun:
        """Begin a session. Raises ConflictError SESSION-001 for a clone while the node is here, InputError SESSION-002."""
        version = choose_version(hello.versions)
        if version is None:
            raise issues.NO_COMMON_VERSION.error(offered=_listed(hello.versions[:8]), known=_listed(VERSIONS))
        begun = await self._database.write(self._beginning, arrival, hello, version)
        if begun is None:
            raise issues.CLONE.error(node=arrival.node)
        return begun

    def _beginning(self, arrival: Arrival, hello: Hello, version: int) -> Transaction[Begun | None]:
        node = arrival.node
        before = yield from self._sessions.taking(node)
        is_same = _is_same(before, hello)
        if not is_same and (before.is_alive or (yield from self._sessions.knowing_instance(node, hello.instance))):
            yield from self._noting_clone(arrival, before)
            if before.is_alive:
                return None
        if before.instance not in ("", hello.instance):
            yield from self._sessions.fencing_stream(node, before.instance)
        stream = (node, hello.instance)
        stand = yield from self._sessions.opening_stream(*stream)
        # A store that was set back counts anew from where it is; one that could not keep everything goes on with a gap.
        lost = max(0, hello.first - 1 - stand.received)
        fresh = min(max(stand.received, hello.first - 1), max(hello.last, hello.first - 1))
        if fresh != stand.received:
            stands, _ = yield from self._sessions.moving_streams({stream: (stand, fresh)})
            stand = stands[stream]
        if hello.received:
            is_set_back = hello.epoch > before.epoch  # our memory; or the node was purged
            yield from self._streams.numbering_after(
                PREFIX + node, hello.received, hello.received_at, is_set_back=is_set_back
            )
        epoch = max(before.epoch, hello.epoch) + 1
        yield from self._sessions.beginning(arrival, epoch, lost)
        digest = yield from self._newest_facts(node)
        return Begun(version, epoch, stand, digest or "", (yield from self._serving(node)))

    def _noting_clone(self, arrival: Arrival, before: Previous) -> Transaction[None]:
        now = self._database.clock.now()
        if before.clone_at is not None and now - before.clone_at < CLONE_NOTED_FOR:
            return
        yield from self._sessions.marking_clone(arrival.node, arrival.address)
        yield from self._audit.adding(
            f"node:{arrival.node}", "session.clone", arrival.node, address=arrival.address, boot_id=arrival.boot_id
        )

    def take_in(
        self,
        source: Source,
        records: Sequence[Record],
        kinds: Mapping[str, RecordKind],
        promise: Promise[Taken | None],
    ) -> None:
        """Store records in their order, each once. What is told is Taken, or None if the node has come anew since, and nothing of these
        is stored.

        A record that cannot be used is logged and counted as lost: repeating it would not make it better.
        """
        node, _ = source.stream
        prepared = [(record.number, _prepare(node, record, kinds)) for record in records]
        self._database.write_item(self._taking_in, Came(source, prepared), promise)

    def _taking_in(self, came: Sequence[Came]) -> Transaction[Sequence[Taken | None]]:
        """Of everybody who sends at this moment; None for a node that has come anew since."""
        moved = yield from self._moving_on(came)
        lost: Counter[str] = Counter()
        work: dict[tuple[int, Taking], list[tuple[Taken, str, Any]]] = {}
        for one, (mine, fresh) in zip(came, moved, strict=True):
            if mine is None:
                continue
            node, _ = one.source.stream
            for kind, body in fresh:
                if kind is None:
                    lost[node] += 1
                else:
                    work.setdefault((kind.rank, kind.taking), []).append((mine, node, body))
        for (_, taking), bodies in sorted(work.items(), key=lambda item: item[0][0]):
            answers = yield from taking([(node, body) for _, node, body in bodies])
            for (mine, node, _), answer in zip(bodies, answers, strict=True):
                if isinstance(answer, PrecastError):
                    log.error("%s sent a record that cannot be used and is dropped: %s", node, answer)
                    lost[node] += 1
                elif answer is not None:
                    mine.wants.append(answer)
        if lost:
            yield from self._sessions.losing(lost)
        return [mine for mine, _ in moved]

    def _moving_on(self, came: Sequence[Came]) -> Transaction[list[tuple[Taken | None, Sequence[Prepared]]]]:
        """Move streams on by what is new to them, held until the commit: what became of each, and what is new."""
        known = {
            one.source.stream: (at, stand, step)
            for at, one in enumerate(came)
            if (stand := one.source.stand) is not None and (step := _step(one.records, stand.received)).fresh
        }
        stands, is_all = yield from self._sessions.moving_streams(
            {stream: (stand, step.through) for stream, (_, stand, step) in known.items()}
        )
        moved = {at: (stands[stream], step) for stream, (at, _, step) in known.items()}
        if not is_all or len(moved) < len(came):
            moved = yield from self._moving_held(came, moved, is_all)
        return [_taken(*moved[at]) if at in moved else (None, ()) for at in range(len(came))]

    def _moving_held(
        self, came: Sequence[Came], moved: "Mapping[int, _Moved]", is_all: bool
    ) -> "Transaction[dict[int, _Moved]]":
        """The same for those that are not moved: their streams are not where they were thought to be, or they bring nothing new. Who is
        left out has come anew."""
        late = {at: one for at, one in enumerate(came) if at not in moved or not is_all}
        held = yield from self._sessions.holding_streams([one.source.stream for one in late.values()])
        reached = {stream: one.stand.received for stream, one in held.items()}
        found = dict(moved) if is_all else {}
        steps: dict[int, _Step] = {}
        for at, one in late.items():
            stream = one.source.stream
            if stream not in held:
                continue
            # If it stands where we would have it, it is we who have moved it.
            is_moved = at in moved and held[stream].stand == moved[at][0]
            if held[stream].epoch != one.source.epoch:
                # A server of an older version has let the node in with another store, and knows nothing of this stream.
                if is_moved and one.source.stand is not None:
                    reached[stream] = one.source.stand.received
            elif is_moved:
                found[at] = moved[at]
            else:
                steps[at] = _step(one.records, reached[stream])
                reached[stream] = steps[at].through
        stands, is_all = yield from self._sessions.moving_streams(
            {
                stream: (held[stream].stand, through)
                for stream, through in reached.items()
                if through != held[stream].stand.received
            }
        )
        assert is_all, "they are held"
        where = {stream: one.stand for stream, one in held.items()} | stands
        return found | {at: (where[late[at].source.stream], step) for at, step in steps.items()}

    def losing(self, told: Sequence[tuple[str, LossBody]]) -> Transaction[Sequence[Want | None]]:
        """Nodes tell that they had to drop records."""
        lost: Counter[str] = Counter()
        for node, body in told:
            lost[node] += body.count
        yield from self._sessions.losing(lost)
        return [None] * len(told)

    async def outgoing(self, node: str, after: int, limit: int, trimmed: int = 0) -> list[Record]:
        """What is for a node, after a number.

        Raises SetBack if the database has not come so far, or holds what was removed through the number `trimmed`.
        """
        page = await self._streams.read(PREFIX + node, after, limit)
        if page.last < after or page.trimmed < trimmed:
            raise SetBack
        return [
            Record(one.number, post.kind, one.at, post.body, post.version)
            for one in page.records
            for post in [msgspec.json.decode(one.body, type=Post)]
        ]

    async def confirm(self, node: str, through: int) -> None:
        """A node has stored what was for it, through this number."""
        await self._streams.trim(PREFIX + node, through)

    def posting(self, node: str, kind: str, body: msgspec.Struct) -> Transaction[int]:
        """Something for a node, as part of a transaction; its number. Whichever server has the node sends it."""
        post = Post(kind, msgspec.Raw(canonical.encode(msgspec.to_builtins(body))))
        return (yield from self._streams.appending(PREFIX + node, [msgspec.json.encode(post)]))

    def has_room(self, node: str) -> Transaction[bool]:
        """Whether something more can be posted to a node."""
        return (yield from self._streams.has_room(PREFIX + node))

    def ordering_facts(self, node: str, actor: str, why: str) -> Transaction[bool]:
        """Have a node collect its facts, as part of a transaction; False if there is no such active node."""
        if not (yield from self._nodes.knowing(node)):
            return False
        yield from self.posting(node, session.COLLECT, session.CollectOrder(why))
        yield from self._audit.adding(actor, "facts.collect", node, why=why)
        return True

    async def waiting(self) -> list[str]:
        """Nodes for which there is something that they have not confirmed."""
        return await self._streams.waiting(PREFIX)


class Post(msgspec.Struct, frozen=True):
    """What is for a node, as it is stored."""

    kind: str
    body: msgspec.Raw
    version: int = 1


def _is_same(before: Previous, hello: Hello) -> bool:
    """Whether the node is the one we saw last: the first that comes is, and one that knows what we saw.

    If its epoch is higher than ours, it is our memory that was set back.
    """
    if before.epoch == 0 or hello.epoch > before.epoch:
        return True
    return before.instance == hello.instance and before.attempt in hello.attempts


class _Step(NamedTuple):
    """What is new of what one connection brings, through which number it is then, and whether there is a gap after that."""

    through: int
    fresh: Sequence[Prepared]
    has_gap: bool


# Where a stream stands, and what was new to it.
_Moved = tuple[Stand, _Step]


def _step(records: Sequence[tuple[int, Prepared]], through: int) -> _Step:
    """Of records the ones that follow the number."""
    fresh: list[Prepared] = []
    for number, prepared in records:
        if number > through + 1:
            return _Step(through, fresh, True)
        if number == through + 1:
            fresh.append(prepared)
            through = number
    return _Step(through, fresh, False)


def _taken(stand: Stand, step: _Step) -> tuple[Taken, Sequence[Prepared]]:
    return Taken(stand, step.has_gap, []), step.fresh


def _prepare(node: str, record: Record, kinds: Mapping[str, RecordKind]) -> Prepared:
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


def _serving_nothing(node: str) -> Transaction[Served]:
    """For a site without catalogs."""
    yield from ()
    return NOTHING


def _listed(versions: Sequence[int]) -> str:
    return ", ".join(map(str, versions)) or "none"
