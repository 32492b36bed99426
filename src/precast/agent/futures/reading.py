"""Values for other programs on this node: the same that a run would get, from the local store, without a server."""

import time
from typing import NamedTuple

from precast.agent.futures import value_tables as tables
from precast.agent.futures.key_states import KeyState, Moment
from precast.agent.identity.machine import read_boot_id
from precast.agent.state.status_notes import FetchNote
from precast.agent.state.store import LocalStore
from precast.agent.state.wakeup import Listener

# How soon a lost signal is noticed.
POLL_S = 0.5


class FoundValues(NamedTuple):
    """The values of a key by node, or why there is none."""

    states: tuple[KeyState, ...]
    reason: str = ""


def find_values(store: LocalStore, key: str, node: str | None = None) -> FoundValues:
    """The values of a key now: of a job that this node takes part in, else of the environment, else those that it was given last."""
    moment = Moment.take(store.clock, read_boot_id())
    subscriptions = tables.read_subscriptions(store)
    fetched = store.read_note(FetchNote)
    received = [
        [state for state in tables.read_states(store, found.attempt, key) if node in (None, state.node)]
        for found in sorted(subscriptions, key=lambda found: found.attempt == tables.STANDING)
    ]
    bound = tables.read_bound(store, fetched.digest) if fetched is not None and fetched.digest else []
    kept = [state for state in bound if state.key == key and node in (None, state.node)]
    for states in (*received, kept):
        if usable := tuple(state for state in states if state.state == "fulfilled" and not state.is_expired(moment)):
            return FoundValues(usable)
    known = [state for states in (*received, kept) for state in states]
    return FoundValues((), _explain(key, node, known, moment, bool(subscriptions)))


def await_values(store: LocalStore, key: str, node: str | None, timeout_s: float) -> FoundValues:
    """Wait until a key has a value, for so long at most."""
    listener = Listener(store.path.parent)
    until_s = time.monotonic() + timeout_s
    try:
        while not (found := find_values(store, key, node)).states and (left_s := until_s - time.monotonic()) > 0:
            listener.wait(min(POLL_S, left_s))
    finally:
        listener.close()
    return found


def _explain(key: str, node: str | None, known: list[KeyState], moment: Moment, has_subscription: bool) -> str:
    what = key if node is None else f"{key} of {node}"
    if any(state.is_expired(moment) for state in known):
        return f"the value of {what} has expired"
    if failed := [state for state in known if state.state == "failed"]:
        return f"there is no value of {what}: {failed[0].reason or 'its promise was not fulfilled'}"
    if known:
        return f"{what} has no value yet; {', '.join(state.node for state in known[:3])} will promise it"
    if not has_subscription:
        return f"there is no value of {what}: the catalog of this node needs no values of other nodes"
    return f"there is no value of {what}: nobody has promised it, or the catalog of this node does not need it"
