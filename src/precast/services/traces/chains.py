"""What the trace tree is made of: chains of reads that end in a leaf.

A compile is deterministic: after the same answers it asks the same question. So the traces of an environment form a tree. A chain is
the rest of one trace from where it left another; it hangs at a read of its parent, by the answer that was another there. Chains are
never changed and never split: a trace that leaves this one in its middle hangs at that read. The tree grows by whole rows only.
"""

from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import msgspec

from precast.base import canonical, digests
from precast.lang import inputs
from precast.lang.inputs import ABSENT, Answer, Question

ABSENT_KEY = "absent"
_QUESTIONS: Any = reduce(or_, Question.__subclasses__())


class Leaf(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a compile came to: a catalog with its source map, or the error of the language it ended with; and what it said."""

    catalog: str | None = None
    source_map: str | None = None
    error: str | None = None
    code: str | None = None
    logs: tuple[tuple[str, str], ...] = ()


class Link(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question with its answer as plain JSON; no answer means absent."""

    question: _QUESTIONS
    answer: Any = msgspec.UNSET

    @property
    def key(self) -> str:
        return ABSENT_KEY if self.answer is msgspec.UNSET else digests.of_bytes(canonical.encode(self.answer))


class Place(NamedTuple):
    """Where a chain hangs: at which read of which chain, by which answer. The first chain of an environment hangs nowhere."""

    chain: str
    position: int
    key: str


ROOT = Place("", 0, "")


class Chain(msgspec.Struct, frozen=True):
    """The rest of a trace, after the read it hangs at."""

    id: str
    links: tuple[Link, ...]
    leaf: Leaf


class _Stored(msgspec.Struct, frozen=True):
    links: tuple[Link, ...]


_decoder = msgspec.json.Decoder(_Stored)


def encode_links(links: tuple[Link, ...]) -> bytes:
    return canonical.encode(_Stored(links))


def decode_links(data: bytes) -> tuple[Link, ...]:
    return _decoder.decode(data).links


def link(question: Question, answer: Answer) -> Link:
    """A read as it is kept. Tuples are lists from here on: the bytes are what counts."""
    return Link(question, msgspec.UNSET if answer is ABSENT else settled(question, answer))


def key_of(answer: Answer) -> str:
    """What tells answers to one question apart."""
    return ABSENT_KEY if answer is ABSENT else digests.of_bytes(canonical.encode(answer))


def same_question(one: Question, other: Question) -> bool:
    return canonical.encode(one) == canonical.encode(other)


# What is the same for all nodes of a version: asked once, not for every node.
_OF_THE_ENVIRONMENT = (
    inputs.FileDigest,
    inputs.Listing,
    inputs.ModulePlace,
    inputs.ModuleFile,
    inputs.ModulePlugins,
    inputs.DecryptionKey,
    inputs.Constant,
    inputs.CompilerVersion,
)


def is_shared(question: Question) -> bool:
    """Whether all nodes of a version have the same answer."""
    if isinstance(question, inputs.DataFile | inputs.DataKey):
        return all(isinstance(part, str) for part in question.path)
    return isinstance(question, _OF_THE_ENVIRONMENT)


def settled(question: Question, answer: Answer) -> Answer:
    """The answer as the tree has it.

    Of a data file only that it is there: what was read of it are questions of their own, and a file that changed elsewhere leads to
    the same leaf.
    """
    return True if isinstance(question, inputs.DataFile) and answer is not ABSENT else answer
