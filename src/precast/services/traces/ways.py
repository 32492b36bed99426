"""The way to a leaf: all reads from the root of a tree to the end of a chain, with the answers that were given."""

from typing import Any

import msgspec

from precast.services.traces.chains import ABSENT_KEY, Link
from precast.services.traces.groves import chain_of
from precast.store.engine.query import Transaction
from precast.store.traces import HungChain, Traces


def way(traces: Traces, chain: str) -> Transaction[list[Link] | None]:
    """None if a chain on the way is no more."""
    hung = yield from traces.finding_by_id(chain)
    if hung is None:
        return None
    found = list(chain_of(hung.chain).links)
    while hung.parent:
        below = hung
        hung = yield from traces.finding_by_id(below.parent)
        if hung is None:
            return None
        parent = chain_of(hung.chain)
        there = parent.links[below.position].question
        found = [*parent.links[: below.position], Link(there, _answer(below)), *found]
    return found


def _answer(hung: HungChain) -> Any:
    """The answer that a chain hangs by; of a long one only its digest is kept."""
    if hung.answer == ABSENT_KEY:
        return msgspec.UNSET
    if hung.value is None:
        return f"another value, {hung.answer[:12]}"
    return msgspec.json.decode(hung.value)
