"""The values of a run on a node: read from the local store, where the daemon puts what servers send.

What the run promises is one transaction: the local state, and the record for the servers. So a run that is killed neither loses a promise
nor repeats it, and the same order carried out again sends no second record. Each call opens the store for itself, because the threads of a
run call, and few catalogs have futures.
"""

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from precast.agent.futures import issues
from precast.agent.futures import value_tables as tables
from precast.agent.futures.key_states import KeyState, Moment
from precast.agent.futures.resolution import Known, Resolution, Sources, resolve
from precast.agent.futures.run_values import Fulfilment, RunValues, Wait, Watch, find_fault
from precast.agent.identity.machine import read_boot_id
from precast.agent.state.spool import Importance, Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.agent.state.wakeup import Listener, wake_daemon
from precast.base.clock import to_micros
from precast.catalog.futures import STANDING, Need
from precast.wire import futures as wire

# Values of one record that tells what a resource was given.
BINDINGS = 1_000


class RunIdentity(NamedTuple):
    """Which run it is."""

    catalog: str
    node: str
    attempt: str = ""  # of a job
    report: str = ""  # empty if no record is sent
    fence: int = 0
    is_noop: bool = False
    is_last_try: bool = True  # a promise that fails now will not be tried again in this attempt


class StoredRunValues(RunValues):
    """The values of one run of a node."""

    def __init__(self, reopen: Callable[[], LocalStore], run: RunIdentity, limits: SpoolLimits) -> None:
        self._reopen = reopen
        self._lock = threading.Lock()
        self._run = run
        self._limits = limits
        self._boot_id = read_boot_id()
        with self._opened() as store:
            super().__init__((), store.clock, run.node)
            self._salt = store.session_state().instance
            self._directory = store.path.parent
            self._past = {own.state.key: own for own in tables.read_own(store)}
        self.waits = bool(run.attempt and run.report and not run.is_noop)
        self._settled: set[str] = set()  # the keys that this run has fulfilled, or has said that it will not

    def moment(self) -> Moment:
        return Moment.take(self._clock, self._boot_id)

    def resolve(self, needs: Sequence[Need]) -> list[Resolution]:
        moment = self.moment()
        with self._opened() as store:
            attempt = self._run.attempt if self.waits else tables.STANDING
            subscription = tables.find_subscription(store, attempt)
            is_ours = subscription is not None and subscription.catalog == self._run.catalog
            states = tables.read_states(store, attempt) if is_ours else []
            bound = tables.read_bound(store, self._run.catalog)
            if any(state.is_expired(moment) and not state.has_expired for state in (*states, *bound)):
                with store.transaction() as db:
                    tables.expire(db, moment, (*states, *bound))
        sources = Sources(
            states if self.waits else self._with_own(states),
            bound,
            self.waits,
            is_ours and subscription is not None and subscription.is_answered,
            subscription.error if subscription is not None and is_ours else "",
        )
        return [resolve(need, sources, moment) for need in needs]

    def bind(self, ref: str, known: Mapping[Need, Known]) -> None:
        if self._run.is_noop:
            return
        catalog = self._run.catalog
        with self._opened() as store:
            stored = tables.read_bound(store, catalog)
            changed = {need.key: found.states for need, found in known.items() if not _is_stored(need, found, stored)}
            if not changed and not self.waits:
                return
            with store.transaction() as db:
                for key, states in changed.items():
                    tables.put_bound(db, catalog, key, states)
                if self.waits:
                    self._put(store, db, wire.BOUND, self._bound(ref, known), Importance.EVENT)
        self._wake_daemon()

    def give_up(self, ref: str, reason: str) -> None:
        if self.waits:
            bound = wire.Bound(self._run.attempt, self._run.catalog, ref[:2_000], [], self._clock.now(), reason[:2_000])
            self._send(wire.BOUND, [bound], Importance.EVENT)

    def note_waits(self, waits: Sequence[Wait], *, is_idle: bool) -> None:
        if not self.waits:
            return
        listed = [
            wire.Wait(wait.ref[:2_000], need.key, float(need.timeout_s)) for wait in waits for need in wait.needs
        ][: wire.MAX_KEYS]
        body = wire.Waiting(self._run.attempt, self._run.catalog, listed, self._clock.now(), is_idle)
        self._send(wire.WAITING, [body], Importance.EVENT)

    def watch(self) -> Watch:
        return StoreWatch(self._reopen())

    def has_promised(self, key: str, value: Any) -> bool:
        past = self._past.get(key)
        return past is not None and past.state.value == self._stored(
            msgspec.json.encode(value), past.state.is_sensitive
        )

    def last_promised(self, key: str, default: Any = None) -> Any:
        past = self._past.get(key)
        return default if past is None or past.state.is_sensitive else msgspec.json.decode(past.state.value)

    def fulfil(self, given: Fulfilment) -> None:
        data = _encode(given)
        state, run = self._state(given, data), self._run
        stored = msgspec.structs.replace(state, value=self._stored(data, given.is_secret))
        own = tables.OwnPromise(stored, given.scope, run.attempt)
        with self._opened() as store, store.transaction() as db:
            if run.fence:
                self._check_fence(db)
            last = tables.find_own(db, given.key)
            is_repeated = run.attempt and last is not None and _is_same(last, own)
            if not is_repeated:
                tables.put_own(db, own, to_micros(self._clock.now()))
                if run.report:
                    self._put(store, db, wire.PROMISED, [self._promised(given, data)], Importance.RESULT)
        with self._lock:
            self._own[given.key] = state
            self._past[given.key] = own
            self._settled.add(given.key)
        self._wake_daemon()

    def unpromise(self, key: str, reason: str) -> None:
        if self._run.is_last_try or self._run.is_noop:
            self._unpromise({key: reason})

    def begin(self, keys: Iterable[str], reasons: Mapping[str, str], *, has_waits: bool) -> None:
        self._unpromise(dict.fromkeys(keys, "its run is a no-op") if self._run.is_noop else reasons)
        if self.waits and has_waits:
            with self._opened() as store, store.transaction() as db:
                tables.add_subscription(db, self._run.attempt, self._run.catalog)
            self._wake_daemon()

    def end(self) -> None:
        if self.waits:
            with self._opened() as store:
                if tables.find_subscription(store, self._run.attempt) is None:
                    return
                with store.transaction() as db:
                    tables.remove_subscription(db, self._run.attempt)
            self._wake_daemon()

    def _with_own(self, states: Iterable[KeyState]) -> list[KeyState]:
        """The states of the environment as this run sees them: what this node promises itself is known here first."""
        own = dict(self._own)
        if not self._run.report:  # without a server, what this node has promised in earlier runs stands here
            for key, past in self._past.items():
                if past.scope == STANDING and not past.state.is_sensitive:
                    own.setdefault(key, msgspec.structs.replace(past.state, node=self._node, is_standing=True))
        return [*(state for state in states if state.key not in own or state.node != self._node), *own.values()]

    def _check_fence(self, db: Any) -> None:
        """Raises ConflictError APPLY-012 if another run has started since: then this one promises nothing."""
        ((current,),) = db.execute("SELECT token FROM run_lease").fetchall()
        if current != self._run.fence:
            raise issues.FENCED.error(fence=self._run.fence, current=current)

    def _unpromise(self, reasons: Mapping[str, str]) -> None:
        """Say once of each key that it will not be fulfilled."""
        run, now = self._run, self._clock.now()
        if not run.attempt or not run.report:
            return
        with self._lock:
            new = {key: reason for key, reason in reasons.items() if key not in self._settled}
            self._settled.update(new)
        bodies = [wire.Unpromised(run.attempt, run.catalog, key, text[:2_000], now) for key, text in new.items()]
        if bodies:
            self._send(wire.UNPROMISED, bodies, Importance.RESULT)

    def _promised(self, given: Fulfilment, data: bytes) -> wire.Promised:
        run = self._run
        return wire.Promised(
            run.report,
            run.catalog,
            given.key,
            msgspec.Raw(data),
            run.fence,
            self._clock.now(),
            self._salt,
            run.attempt,
            given.is_secret,
            given.ttl_s,
        )

    def _bound(self, ref: str, known: Mapping[Need, Known]) -> list[wire.Bound]:
        bindings = [
            wire.Binding(state.key, state.node[:2_000], state.number, state.is_standing)
            for found in known.values()
            for state in found.states
        ]
        pieces = [bindings[first : first + BINDINGS] for first in range(0, len(bindings), BINDINGS)] or [[]]
        now = self._clock.now()
        return [wire.Bound(self._run.attempt, self._run.catalog, ref[:2_000], piece, now) for piece in pieces]

    def _stored(self, data: bytes, is_secret: bool) -> bytes:
        """A value as it is stored: of a secret only a digest is."""
        if not is_secret:
            return data
        return msgspec.json.encode("{secret}" + hashlib.sha256(self._salt.encode() + b"\0" + data).hexdigest())

    def _send(self, kind: str, bodies: Sequence[msgspec.Struct], importance: Importance) -> None:
        with self._opened() as store, store.transaction() as db:
            self._put(store, db, kind, bodies, importance)
        self._wake_daemon()

    def _put(
        self, store: LocalStore, db: Any, kind: str, bodies: Sequence[msgspec.Struct], importance: Importance
    ) -> None:
        spool = Spool(store, self._limits)
        for body in bodies:
            spool.put_within(db, kind, msgspec.json.encode(body), importance)

    def _wake_daemon(self) -> None:
        wake_daemon(self._directory)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[LocalStore]:
        store = self._reopen()
        try:
            yield store
        finally:
            store.close()


class StoreWatch(Watch):
    """Watches the local store: the daemon signals when it has written values; the version of the file tells if a signal was lost."""

    def __init__(self, store: LocalStore) -> None:
        super().__init__()
        self._store = store
        self._listener = Listener(store.path.parent)
        self._version = store.read("PRAGMA data_version")

    def wait(self, timeout_s: float) -> bool:
        self._listener.wait(timeout_s)
        version = self._store.read("PRAGMA data_version")
        has_changed = version != self._version
        self._version = version
        return has_changed

    def wake(self) -> None:
        self._listener.wake()

    def close(self) -> None:
        self._listener.close()
        self._store.close()


def _encode(given: Fulfilment) -> bytes:
    """A value as JSON. Raises InputError APPLY-010 if it cannot be given to other nodes."""
    if reason := find_fault(given.value):
        raise issues.BAD_VALUE.error(key=given.key, reason=reason)
    data = msgspec.json.encode(given.value)
    if len(data) > wire.MAX_VALUE_BYTES:
        reason = f"it has {len(data)} bytes, and {wire.MAX_VALUE_BYTES} are allowed"
        raise issues.BAD_VALUE.error(key=given.key, reason=reason)
    return data


def _is_same(last: tables.OwnPromise, own: tables.OwnPromise) -> bool:
    names = ("value", "is_sensitive", "left_s")
    has_same_value = all(getattr(last.state, name) == getattr(own.state, name) for name in names)
    return has_same_value and last[1:] == own[1:]


def _is_stored(need: Need, found: Known, stored: Sequence[KeyState]) -> bool:
    known = {state.node: state for state in stored if state.key == need.key}
    return known == {state.node: state for state in found.states}
