"""Decides what a need gets: values, a wait, or a reason why there is none. Pure: the states are given.

In a job, the members that promise the key decide, whatever value stands in the environment. If no member does, standing values count, then
those that this node was given last for the same catalog. A single value has exactly one producer; two are a failure, whose text names them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from precast.agent.futures.key_states import EXPIRED, KeyState, Moment
from precast.catalog.futures import Need

# Nodes that a text names; the others are counted.
NAMED = 3


class Known(NamedTuple):
    """The values of a need, and the nodes that are absent because they failed."""

    states: tuple[KeyState, ...]
    absent: tuple[KeyState, ...] = ()


class Pending(NamedTuple):
    """The need has to wait, for these nodes; for none if no server has answered yet."""

    nodes: tuple[str, ...] = ()


class Unavailable(NamedTuple):
    """There is no value, and none is waited for: nobody has promised the key. That is no failure."""

    reason: str


class Failed(NamedTuple):
    """There will be no value."""

    reason: str


Resolution = Known | Pending | Unavailable | Failed


class Sources(NamedTuple):
    """What is known of a key."""

    states: Sequence[KeyState]  # of the job or of the environment, by node
    bound: Sequence[KeyState] = ()  # what this node was given last for this catalog
    in_job: bool = False
    is_answered: bool = True  # a server has sent all states of the job
    error: str = ""  # why the server refused to


def resolve(need: Need, sources: Sources, moment: Moment) -> Resolution:
    """What the need gets at a moment."""
    states = sorted((state for state in sources.states if state.key == need.key), key=lambda state: state.node)
    members = [state for state in states if not state.is_standing] if sources.in_job else []
    if members:
        return _resolve_members(need, members, moment)
    if sources.in_job and sources.error:
        return Failed(f"{need.key} cannot be read: {sources.error}")
    if sources.in_job and not sources.is_answered:
        return Pending()
    standing = [state for state in states if state.state == "fulfilled" and not state.is_expired(moment)]
    found = _choose(need, standing)
    if isinstance(found, Unavailable):
        bound = [state for state in sources.bound if state.key == need.key and not state.is_expired(moment)]
        kept = _choose(need, bound)
        found = kept if isinstance(kept, Known) and kept.states else found
    return _explain(need, sources, found)


def _resolve_members(need: Need, members: list[KeyState], moment: Moment) -> Resolution:
    if not need.many and len(members) > 1:
        return Failed(f"{need.key} is promised by {_names(members)}, and future() needs exactly one; use futures()")
    good = tuple(state for state in members if state.state == "fulfilled" and not state.is_expired(moment))
    pending = [state for state in members if state.state == "pending"]
    failed = tuple(state for state in members if state.state != "pending" and state not in good)
    count = need.count(len(members))
    if len(failed) > len(members) - count:
        return Failed(_describe_failure(need, count, len(members), failed))
    has_least = need.at_least is not None or need.at_least_percent is not None
    if len(good) >= count and (has_least or not pending):
        return Known(good, failed)
    return Pending(tuple(state.node for state in pending))


def _choose(need: Need, states: Sequence[KeyState]) -> Resolution:
    """What values of the environment, or of an earlier run, give."""
    if not need.many:
        if len(states) > 1:
            return Failed(f"{need.key} has values of {_names(states)}, and future() needs exactly one; use futures()")
        return Known(tuple(states)) if states else Unavailable("")
    is_empty_enough = not states and need.at_least_percent is None and need.at_least != 0
    if len(states) < need.count(len(states)) or is_empty_enough:
        return Unavailable("")
    return Known(tuple(states))


def _explain(need: Need, sources: Sources, found: Resolution) -> Resolution:
    if not isinstance(found, Unavailable):
        return found
    if sources.in_job:
        return Unavailable(f"nobody in this job promises {need.key}, and the environment has no value of it")
    return Unavailable(f"it needs the future {need.key}, which has no value yet")


def _describe_failure(need: Need, count: int, members: int, failed: Sequence[KeyState]) -> str:
    reasons = "; ".join(f"{state.node}: {_reason(state)}" for state in failed[:NAMED])
    more = f"; and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    if not need.many:
        return f"there will be no value of {need.key}, promised by {failed[0].node}: {_reason(failed[0])}"
    if not failed:
        return f"{need.key} is promised by {members} of the {count} nodes that are needed"
    return f"{need.key} is needed of {count} of {members} nodes, and {len(failed)} failed: {reasons}{more}"


def _reason(state: KeyState) -> str:
    return EXPIRED if state.state == "fulfilled" else state.reason or "its promise was not fulfilled"


def _names(states: Sequence[KeyState]) -> str:
    names = [state.node for state in states]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
