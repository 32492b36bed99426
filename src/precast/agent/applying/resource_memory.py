"""What a node remembers from run to run: the last state of each resource, and when it was applied.

The remembered state tells whether a change is corrective, which undoes a change that was not made by a run, and what an audit reports.
It is written once, at the end of a run that may enforce, under the run's lease. Of long and of secret values only a digest is stored.
"""

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import msgspec

from precast.agent.applying.lease import Lease
from precast.agent.state.store import LocalStore
from precast.base.clock import from_optional_micros, to_micros

# Longer texts are stored as a digest.
MAX_CHARS = 200
# Beside the properties of a state: the names that were secret.
_HIDDEN_NAMES = "(secret)"


class ResourceMemory:
    """The memory of one run. Safe for its threads: the state of a resource is only used by the thread that applies it."""

    def __init__(self, salt: str = "") -> None:
        self._salt = salt
        self._states: dict[str, bytes] = {}
        self._applied: dict[str, datetime | None] = {}
        self._new_states: dict[str, bytes] = {}
        self._new_applied: dict[str, datetime] = {}

    @classmethod
    def load(cls, store: LocalStore) -> "ResourceMemory":
        """Load what earlier runs have stored."""
        memory = cls(store.session_state().instance)
        for ref, state, applied_at in store.read("SELECT ref, state, applied_at FROM resource_state"):
            memory._states[ref] = state
            memory._applied[ref] = from_optional_micros(applied_at)
        return memory

    def state(self, ref: str) -> Mapping[str, Any]:
        """The state of a resource after the last run; empty if it was never applied."""
        data = self._states.get(ref)
        return msgspec.json.decode(data) if data is not None else {}

    def past_secrets(self, ref: str) -> frozenset[str]:
        """The names that were secret in a resource when it was applied last."""
        data = self._states.get(ref)
        if data is None or _HIDDEN_NAMES.encode() not in data:
            return frozenset()
        return frozenset(msgspec.json.decode(data).get(_HIDDEN_NAMES, ()))

    def is_same(self, remembered: Any, value: Any) -> bool:
        """Whether a remembered value, which may be a digest, is this value."""
        return bool(
            remembered == self._shorten(value, is_secret=False) or remembered == self._shorten(value, is_secret=True)
        )

    def remember(self, ref: str, state: Mapping[str, Any], secrets: Collection[str] = ()) -> None:
        """Note the state of a resource after it was applied."""
        data = _encoder.encode(state if not secrets and _is_short(state) else self._shorten_state(state, secrets))
        if self._states.get(ref) != data:
            self._new_states[ref] = data

    def applied_at(self, ref: str) -> datetime | None:
        return self._applied.get(ref)

    def note_applied(self, ref: str, at: datetime) -> None:
        self._new_applied[ref] = at

    def save(self, store: LocalStore, lease: Lease) -> None:
        """Store what is new. Raises ConflictError APPLY-002 if the lease is lost; then nothing is stored."""
        refs = self._new_states.keys() | self._new_applied.keys()
        if not refs:
            return
        with store.transaction() as db:
            lease.check()
            for ref in sorted(refs):
                state = self._new_states.get(ref, self._states.get(ref, b"{}"))
                applied_at = self._new_applied.get(ref, self._applied.get(ref))
                db.execute(
                    "INSERT OR REPLACE INTO resource_state (ref, state, applied_at) VALUES (?, ?, ?)",
                    (ref, state, None if applied_at is None else to_micros(applied_at)),
                )

    def _shorten_state(self, state: Mapping[str, Any], secrets: Collection[str]) -> dict[str, Any]:
        stored = {name: self._shorten(value, name in secrets) for name, value in state.items()}
        return stored | {_HIDDEN_NAMES: sorted(secrets)} if secrets else stored

    def _shorten(self, value: Any, is_secret: bool) -> Any:
        """A value as it is stored: itself, or a digest."""
        if isinstance(value, list | tuple):
            return [self._shorten(item, is_secret) for item in value]
        if is_secret:
            return "{secret}" + hashlib.sha256(f"{self._salt}\0{value}".encode(errors="replace")).hexdigest()
        if isinstance(value, bytes):
            return "{sha256}" + hashlib.sha256(value).hexdigest()
        if isinstance(value, str):
            return value if len(value) <= MAX_CHARS else "{sha256}" + hashlib.sha256(value.encode()).hexdigest()
        return value if value is None or isinstance(value, int | float) else str(value)


def _is_short(state: Mapping[str, Any]) -> bool:
    """Whether all values are stored as they are, which is the usual case."""
    for value in state.values():  # noqa: SIM110 - all() over a generator takes longer than the rest of a resource in sync
        if type(value) is not str or len(value) > MAX_CHARS:
            return False
    return True


_encoder = msgspec.json.Encoder(order="sorted")
