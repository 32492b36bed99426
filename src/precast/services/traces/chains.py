"""The parts of a trace tree: chains of reads that end in a leaf.

A compile is deterministic: after the same answers it asks the same question. So the traces of an environment form a tree. A chain is
the rest of one trace after it diverged from another; it is attached to a read of its parent by the answer that differs there. Chains are
never changed and never split: a trace that diverges in the middle of a chain is attached to that read. The tree grows by whole rows only.
"""

from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import msgspec

from precast.base import canonical, digests
from precast.catalog.problems import CatalogProblem
from precast.lang import inputs
from precast.lang.inputs import ABSENT, Answer, Question

ABSENT_KEY = "absent"
_QUESTIONS: Any = reduce(or_, Question.__subclasses__())


class Leaf(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of a compile: a catalog with its source map, or its error; its log lines, and problems that are no errors."""

    catalog: str | None = None
    source_map: str | None = None
    error: str | None = None
    code: str | None = None
    logs: tuple[tuple[str, str], ...] = ()
    problems: tuple[CatalogProblem, ...] = ()


class Link(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question with its answer as plain JSON; no answer means absent."""

    question: _QUESTIONS
    answer: Any = msgspec.UNSET

    @property
    def key(self) -> str:
        return ABSENT_KEY if self.answer is msgspec.UNSET else digests.of_bytes(canonical.encode(self.answer))


class BranchPoint(NamedTuple):
    """Where a chain is attached: the parent chain, the position of the read in it, and the key of the answer that leads to the chain."""

    chain: str
    position: int
    key: str


# Where the first chain of an environment begins.
ROOT = BranchPoint("", 0, "")


class Chain(msgspec.Struct, frozen=True):
    """The rest of a trace, after its branch point."""

    id: str
    links: tuple[Link, ...]
    leaf: Leaf


class _StoredLinks(msgspec.Struct, frozen=True):
    links: tuple[Link, ...]


_decoder = msgspec.json.Decoder(_StoredLinks)


def encode_links(links: tuple[Link, ...]) -> bytes:
    return canonical.encode(_StoredLinks(links))


def decode_links(data: bytes) -> tuple[Link, ...]:
    return _decoder.decode(data).links


def make_link(question: Question, answer: Answer) -> Link:
    """A read as it is stored. Tuples become lists: only the encoded bytes are compared."""
    return Link(question, msgspec.UNSET if answer is ABSENT else normalise_answer(question, answer))


def key_of(answer: Answer) -> str:
    """The key that tells the answers to one question apart."""
    return ABSENT_KEY if answer is ABSENT else digests.of_bytes(canonical.encode(answer))


def is_same_question(left: Question, right: Question) -> bool:
    return canonical.encode(left) == canonical.encode(right)


# Questions with one answer for all nodes of a version: asked once, not for every node. The keys of a server are not among them: they
# may change while a version is in use.
_OF_THE_ENVIRONMENT = (
    inputs.FileDigest,
    inputs.Listing,
    inputs.ModuleDirectory,
    inputs.ModuleFile,
    inputs.ModulePlugins,
    inputs.ModulesWithType,
    inputs.ModuleLibrary,
    inputs.ModuleFact,
    inputs.Constant,
    inputs.CompilerVersion,
)


def is_shared(question: Question) -> bool:
    """Whether all nodes of a version have the same answer."""
    if isinstance(question, inputs.DataFile | inputs.DataKey):
        return all(isinstance(part, str) for part in question.path)
    return isinstance(question, _OF_THE_ENVIRONMENT)


def normalise_answer(question: Question, answer: Answer) -> Answer:
    """The answer as the tree stores it.

    For a data file it is only that the file exists: each key that was read from it is a question of its own, so a file that changed
    elsewhere leads to the same leaf.
    """
    return True if isinstance(question, inputs.DataFile) and answer is not ABSENT else answer
