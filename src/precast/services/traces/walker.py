"""Walks the trace tree with the inputs of one node: to a leaf, or to the branch point where no chain is known.

Most questions are about the environment and have one answer for all nodes of a version. The walker asks those of a chain once for the
version; the walk of a node asks the rest, in order, up to the read where the version itself leaves the chain. So a walk of some hundred
reads takes microseconds.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from precast.base import canonical
from precast.lang.inputs import ABSENT, Answer, Question
from precast.services.traces.chains import (
    ABSENT_KEY,
    ROOT,
    BranchPoint,
    Chain,
    Leaf,
    Link,
    is_shared,
    key_of,
    normalise_answer,
)

Ask = Callable[[Question], Answer]
# The chains that a walk followed, each with the number of reads.
TracePath = tuple[tuple[str, int], ...]


class ReachedLeaf(NamedTuple):
    """A walk that ended at a leaf, and its path."""

    leaf: Leaf
    path: TracePath
    # The documents of secret sources that the walk has read.
    secrets: frozenset[str] = frozenset()


class MissingBranch(NamedTuple):
    """A walk that ended where no chain is known: the database may have one that is not cached, or a compile has to add it."""

    branch_point: BranchPoint
    path: TracePath
    secrets: frozenset[str] = frozenset()


class _NodeRead(NamedTuple):
    """A read that depends on the node, with its answer in the form in which it is compared."""

    position: int
    question: Question
    text: str | None
    data: bytes | None


class _PreparedChain(NamedTuple):
    """A chain as one version sees it: the reads that depend on the node, and where the version's own answers leave the chain."""

    chain: Chain
    reads: tuple[_NodeRead, ...]
    end: int
    key: str


class Walker:
    """Walks for all nodes of one version over cached chains; a chain that is not cached ends the walk with `MissingBranch`."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._prepared: dict[BranchPoint, _PreparedChain] = {}

    def add_chain(self, branch_point: BranchPoint, chain: Chain) -> None:
        """Cache the chain that begins at a branch point."""
        if branch_point not in self._prepared:
            self._prepared[branch_point] = self._prepare(chain)

    def walk(self, ask: Ask) -> ReachedLeaf | MissingBranch:
        """Follow the node's answers as far as the cached chains go."""
        branch_point = ROOT
        path: list[tuple[str, int]] = []
        while (prepared := self._prepared.get(branch_point)) is not None:
            position, key = _follow(prepared, ask)
            path.append((prepared.chain.id, position))
            if position == len(prepared.chain.links):
                return ReachedLeaf(prepared.chain.leaf, tuple(path))
            branch_point = BranchPoint(prepared.chain.id, position, key)
        return MissingBranch(branch_point, tuple(path))

    def _prepare(self, chain: Chain) -> _PreparedChain:
        reads: list[_NodeRead] = []
        for position, link in enumerate(chain.links):
            if not is_shared(link.question):
                reads.append(_node_read(position, link))
                continue
            answer = normalise_answer(link.question, self._ask(link.question))
            if not _is_answer(link, answer):
                return _PreparedChain(chain, tuple(reads), position, key_of(answer))
        return _PreparedChain(chain, tuple(reads), len(chain.links), "")


def _follow(prepared: _PreparedChain, ask: Ask) -> tuple[int, str]:
    """How far the node follows a chain, and the key of its answer where it leaves the chain."""
    for position, question, text, data in prepared.reads:
        answer = normalise_answer(question, ask(question))
        if text is not None:
            if answer == text and type(answer) is str:
                continue
        elif data is None:
            if answer is ABSENT:
                continue
        elif answer is not ABSENT and canonical.encode(answer) == data:
            continue
        return position, key_of(answer)
    return prepared.end, prepared.key


def _node_read(position: int, link: Link) -> _NodeRead:
    if link.key == ABSENT_KEY:
        return _NodeRead(position, link.question, None, None)
    if isinstance(link.answer, str):
        return _NodeRead(position, link.question, link.answer, None)
    return _NodeRead(position, link.question, None, canonical.encode(link.answer))


def _is_answer(link: Link, answer: Any) -> bool:
    return link.key == key_of(answer)
