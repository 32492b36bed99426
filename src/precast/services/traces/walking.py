"""Walks the trace tree with one node's inputs: to a leaf, or to the place where a branch is missing.

Most questions are about the environment and have one answer for all nodes of a version. Those of a chain are asked once a version; the
walk of a node asks the rest, in order, up to where the version itself leaves the chain. That makes a walk of some hundred
reads a matter of microseconds.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from precast.base import canonical
from precast.lang.inputs import ABSENT, Answer, Question
from precast.services.traces.chains import ABSENT_KEY, ROOT, Chain, Leaf, Link, Place, is_shared, key_of, settled

Ask = Callable[[Question], Answer]


class Found(NamedTuple):
    """The end of a walk: the leaf, and the chains on the way with how far each was followed."""

    leaf: Leaf
    way: tuple[tuple[str, int], ...]


class Missing(NamedTuple):
    """Where no chain is known: the tree may have one that is not in memory, or a compile has to grow it."""

    place: Place
    way: tuple[tuple[str, int], ...]


class _Read(NamedTuple):
    """A read that depends on the node, ready to be compared."""

    position: int
    question: Question
    text: str | None
    data: bytes | None


class _Prepared(NamedTuple):
    """A chain as one version sees it: the reads that depend on the node, and where the version's own answers leave the chain."""

    chain: Chain
    reads: tuple[_Read, ...]
    end: int
    key: str


class Walker:
    """Walks for all nodes of one version. Memory is a cache: what is not here is asked for with `Missing`."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._prepared: dict[Place, _Prepared] = {}

    def learn(self, place: Place, chain: Chain) -> None:
        """Take a chain in."""
        if place not in self._prepared:
            self._prepared[place] = self._prepare(chain)

    def walk(self, ask: Ask) -> Found | Missing:
        """Follow the node's answers as far as the chains in memory go."""
        place = ROOT
        way: list[tuple[str, int]] = []
        while (prepared := self._prepared.get(place)) is not None:
            position, key = _follow(prepared, ask)
            way.append((prepared.chain.id, position))
            if position == len(prepared.chain.links):
                return Found(prepared.chain.leaf, tuple(way))
            place = Place(prepared.chain.id, position, key)
        return Missing(place, tuple(way))

    def _prepare(self, chain: Chain) -> _Prepared:
        reads: list[_Read] = []
        for position, link in enumerate(chain.links):
            if not is_shared(link.question):
                reads.append(_read(position, link))
                continue
            answer = settled(link.question, self._ask(link.question))
            if not _is_answer(link, answer):
                return _Prepared(chain, tuple(reads), position, key_of(answer))
        return _Prepared(chain, tuple(reads), len(chain.links), "")


def _follow(prepared: _Prepared, ask: Ask) -> tuple[int, str]:
    """How far the node goes along a chain, and its answer there."""
    for position, question, text, data in prepared.reads:
        answer = settled(question, ask(question))
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


def _read(position: int, link: Link) -> _Read:
    if link.key == ABSENT_KEY:
        return _Read(position, link.question, None, None)
    if isinstance(link.answer, str):
        return _Read(position, link.question, link.answer, None)
    return _Read(position, link.question, None, canonical.encode(link.answer))


def _is_answer(link: Link, answer: Any) -> bool:
    return link.key == key_of(answer)
