"""What a node remembers from run to run: the state each resource was in, when it was applied, and values it promised.

From the state follows whether a change corrects something that somebody else did, and what an audit has to say. It is written once,
at the end of a run that may change things, under the run's lease; of long and of secret values only a digest is kept.
"""

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import msgspec

from precast.agent.applying.lease import Lease
from precast.agent.state.store import LocalStore
from precast.base.clock import from_optional_micros, to_micros

LONGEST = 200


class Memory:
    """The memory of one run. Safe for its threads: each resource is only touched by the one that has its turn."""

    def __init__(self, salt: str = "") -> None:
        self._salt = salt
        self._states: dict[str, bytes] = {}
        self._applied: dict[str, datetime | None] = {}
        self._new_states: dict[str, bytes] = {}
        self._new_applied: dict[str, datetime] = {}
        self.promises: dict[str, Any] = {}
        self._new_promises: dict[str, Any] = {}

    @classmethod
    def load(cls, store: LocalStore) -> "Memory":
        """What earlier runs have left."""
        memory = cls(store.standing().instance)
        for ref, state, applied_at in store.read("SELECT ref, state, applied_at FROM resource_state"):
            memory._states[ref] = state
            memory._applied[ref] = from_optional_micros(applied_at)
        for key, value in store.read("SELECT key, value FROM promise"):
            memory.promises[key] = msgspec.json.decode(value)
        return memory

    def state(self, ref: str) -> Mapping[str, Any]:
        """The state after the last run; nothing if it was never seen."""
        known = self._states.get(ref)
        return msgspec.json.decode(known) if known is not None else {}

    def is_same(self, kept: Any, value: Any) -> bool:
        """Whether a value that was kept is this one."""
        return bool(kept == self._short(value, is_secret=False) or kept == self._short(value, is_secret=True))

    def keep(self, ref: str, state: Mapping[str, Any], secrets: Collection[str] = ()) -> None:
        """Note the state of a resource after its turn."""
        data = _encoder.encode(state if not secrets and _is_short(state) else self._shortened(state, secrets))
        if self._states.get(ref) != data:
            self._new_states[ref] = data

    def applied_at(self, ref: str) -> datetime | None:
        return self._applied.get(ref)

    def note_applied(self, ref: str, at: datetime) -> None:
        self._new_applied[ref] = at

    def promise(self, key: str, value: Any) -> None:
        """A value that this node gives; whoever needs it on this node has it from now on."""
        self.promises[key] = self._new_promises[key] = value

    def save(self, store: LocalStore, lease: Lease, at: datetime) -> None:
        """Write what is new. Raises ConflictError APPLY-002 if the lease is lost; then nothing is written."""
        refs = self._new_states.keys() | self._new_applied.keys()
        if not refs and not self._new_promises:
            return
        with store.writing() as db:
            lease.check()
            for ref in sorted(refs):
                state = self._new_states.get(ref, self._states.get(ref, b"{}"))
                moment = self._new_applied.get(ref, self._applied.get(ref))
                db.execute(
                    "INSERT OR REPLACE INTO resource_state (ref, state, applied_at) VALUES (?, ?, ?)",
                    (ref, state, None if moment is None else to_micros(moment)),
                )
            for key, value in self._new_promises.items():
                db.execute(
                    "INSERT OR REPLACE INTO promise (key, value, at) VALUES (?, ?, ?)",
                    (key, msgspec.json.encode(value), to_micros(at)),
                )

    def _shortened(self, state: Mapping[str, Any], secrets: Collection[str]) -> dict[str, Any]:
        return {name: self._short(value, name in secrets) for name, value in state.items()}

    def _short(self, value: Any, is_secret: bool) -> Any:
        """A value as it is kept."""
        if isinstance(value, list | tuple):
            return [self._short(item, is_secret) for item in value]
        if is_secret:
            return "{secret}" + hashlib.sha256(f"{self._salt}\0{value}".encode(errors="replace")).hexdigest()
        if isinstance(value, bytes):
            return "{sha256}" + hashlib.sha256(value).hexdigest()
        if isinstance(value, str):
            return value if len(value) <= LONGEST else "{sha256}" + hashlib.sha256(value.encode()).hexdigest()
        return value if value is None or isinstance(value, int | float) else str(value)


def _is_short(state: Mapping[str, Any]) -> bool:
    """Whether everything is kept as it is, which is the rule."""
    for value in state.values():  # noqa: SIM110 - all() over a generator takes longer than the rest of a quiet turn
        if type(value) is not str or len(value) > LONGEST:
            return False
    return True


_encoder = msgspec.json.Encoder(order="sorted")
