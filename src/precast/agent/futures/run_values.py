"""The values of one run: what its resources get, and what this node promises in it.

This class keeps them in memory, for runs that no store belongs to; `StoredRunValues` is what a run on a node has.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import msgspec

from precast.agent.futures.key_states import KeyState, Moment
from precast.agent.futures.resolution import Known, Resolution, Sources, resolve
from precast.base.clock import Clock, SystemClock
from precast.catalog.futures import STANDING, Need

# The node of a promise of this machine, if it has no name yet.
THIS_NODE = "this node"
SECRET = "a secret"  # noqa: S105 - shown in place of one


class Fulfilment(NamedTuple):
    """What a promise gives."""

    key: str
    value: Any  # plain data
    scope: str = STANDING
    ttl_s: float | None = None
    is_secret: bool = False


class Wait(NamedTuple):
    """A resource that waits for values."""

    ref: str
    needs: tuple[Need, ...]


class RunValues:
    """The values of one run. Safe for its threads."""

    # Whether a resource waits for values that are not there yet: in an enforcing run of a job.
    waits = False

    def __init__(self, states: Iterable[KeyState] = (), clock: Clock | None = None, node: str = THIS_NODE) -> None:
        self._states = list(states)
        self._clock = clock or SystemClock()
        self._node = node
        self._own: dict[str, KeyState] = {}  # what this run has promised

    def moment(self) -> Moment:
        return Moment.take(self._clock, "")

    def resolve(self, needs: Sequence[Need]) -> list[Resolution]:
        """What each need gets now."""
        states, moment = [*self._states, *self._own.values()], self.moment()
        return [resolve(need, Sources(states), moment) for need in needs]

    def bind(self, ref: str, known: Mapping[Need, Known]) -> None:
        """Note the values that a resource was given."""

    def give_up(self, ref: str, reason: str) -> None:
        """Note that a resource does not wait any more, and has no values."""

    def note_waits(self, waits: Sequence[Wait], *, is_idle: bool) -> None:
        """Note all resources that wait now; `is_idle` if the run has nothing else to do."""

    def watch(self) -> "Watch":
        """Watch for new values, in one thread."""
        return Watch()

    def has_promised(self, key: str, value: Any) -> bool:
        """Whether this is the value that this node has promised last."""
        own = self._own.get(key)
        return own is not None and own.value == msgspec.json.encode(value)

    def last_promised(self, key: str, default: Any = None) -> Any:
        """The value that this node has promised last, to be shown."""
        own = self._own.get(key)
        return default if own is None else show(own)

    def fulfil(self, given: Fulfilment) -> None:
        """Publish a value. Raises PrecastError; then nothing was published."""
        self._own[given.key] = self._state(given, msgspec.json.encode(given.value))

    def unpromise(self, key: str, reason: str) -> None:
        """Tell those who wait that this run will not fulfil a promise."""

    def begin(self, keys: Iterable[str], reasons: Mapping[str, str], *, has_waits: bool) -> None:
        """The run begins: its catalog promises the keys, and `reasons` say which of them it will not fulfil. `has_waits` if resources may
        wait."""

    def end(self) -> None:
        """The run has ended: nobody waits in it any more."""

    def _state(self, given: Fulfilment, data: bytes) -> KeyState:
        moment = self.moment()
        return KeyState(
            given.key,
            self._node,
            "fulfilled",
            value=data,
            is_sensitive=given.is_secret,
            expires_at=None if given.ttl_s is None else moment.now + timedelta(seconds=given.ttl_s),
            left_s=given.ttl_s,
            received_s=moment.boot_s,
            boot_id=moment.boot_id,
            is_standing=True,
        )


class Watch:
    """Watches for new values. Used by one thread; this one learns of them by `wake`."""

    def __init__(self) -> None:
        self._woken = threading.Event()

    def wait(self, timeout_s: float) -> bool:
        """Wait for new values, until `wake` is called or for so long. Returns whether there may be new ones."""
        is_woken = self._woken.wait(timeout_s)
        self._woken.clear()
        return is_woken

    def wake(self) -> None:
        """End the wait of the thread that watches; any thread may call this."""
        self._woken.set()

    def close(self) -> None:
        """Stop watching."""


def show(state: KeyState) -> Any:
    """The value of a state, as a report may show it."""
    return SECRET if state.is_sensitive else msgspec.json.decode(state.value)


def find_fault(value: Any) -> str:
    """Why a value cannot travel; empty if it can. A hash with `__ptype` would be read as a value of another kind."""
    if isinstance(value, bytes):
        return "it is or contains a Binary, and only text, numbers, booleans, arrays and hashes can be given"
    if isinstance(value, dict):
        if "__ptype" in value:
            return "a hash in it has the key __ptype, which is reserved"
        return next(filter(None, map(find_fault, value.values())), "")
    if isinstance(value, list | tuple):
        return next(filter(None, map(find_fault, value)), "")
    return ""
