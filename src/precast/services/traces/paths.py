"""The path to a leaf: all reads from the root of a trace tree to the end of a chain, with their answers."""

from typing import Any

import msgspec

from precast.services.traces.chains import ABSENT_KEY, Chain, Leaf, Link, decode_links
from precast.store.engine.compression import decompress
from precast.store.engine.query import Transaction
from precast.store.traces import AttachedChain, ChainRow, Traces

_leaf = msgspec.json.Decoder(Leaf)


def read_path(traces: Traces, chain: str) -> Transaction[list[Link] | None]:
    """The reads that lead to the end of a chain; None if a chain of the path no longer exists."""
    attached = yield from traces.find_by_id(chain)
    if attached is None:
        return None
    path = list(decode_chain(attached.chain).links)
    while attached.parent:
        below = attached
        attached = yield from traces.find_by_id(below.parent)
        if attached is None:
            return None
        parent = decode_chain(attached.chain)
        question = parent.links[below.position].question
        path = [*parent.links[: below.position], Link(question, _answer(below)), *path]
    return path


def decode_chain(row: ChainRow) -> Chain:
    return Chain(row.id, decode_links(decompress(row.links)), decode_leaf(row))


def decode_leaf(row: ChainRow) -> Leaf:
    """The leaf of a chain, without its reads."""
    return _leaf.decode(row.leaf)


def _answer(attached: AttachedChain) -> Any:
    """The answer that leads from the parent to a chain; of a long answer only the digest is stored."""
    if attached.answer == ABSENT_KEY:
        return msgspec.UNSET
    if attached.value is None:
        return f"another value, {attached.answer[:12]}"
    return msgspec.json.decode(attached.value)
