"""The trace tree against random programs: for every node a walk finds the leaf that a compile of that node would give.

A program is a decision tree over questions: it asks a question, and its next question depends on the answer. To the trace tree a compile
is nothing else. The facts of the fleet, and the files of the environment, change between rounds.
"""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from precast.lang.inputs import ABSENT, Answer, FactPath, FileDigest, Question
from precast.services.traces.chains import (
    ROOT,
    BranchPoint,
    Chain,
    Leaf,
    Link,
    decode_links,
    encode_links,
    make_link,
)
from precast.services.traces.divergence import follow_chain
from precast.services.traces.walker import MissingBranch, ReachedLeaf, Walker

VALUES: list[Answer] = ["a", "b", 1, True, 1.0, None, ABSENT, [1], {"k": "v"}]
Node = dict[str, Answer]


class Program:
    """Asks up to `depth` questions; the next question and the result are drawn from the answers so far."""

    def __init__(self, seed: int, depth: int) -> None:
        self._seed, self._depth = seed, depth

    def run(self, node: Node, files: Node) -> tuple[list[Link], Leaf]:
        trace: list[Link] = []
        state = str(self._seed)
        asked: set[Question] = set()
        for _ in range(self._depth):
            draw = _mixed(state)
            if draw % 7 == 0:
                break
            question: Question = FactPath((f"f{draw % 4}",)) if draw % 3 else FileDigest(f"m{draw % 4}")
            answer = ask(question, node, files)
            if question not in asked:
                asked.add(question)
                trace.append(make_link(question, answer))
            # Every second answer does not matter for the next question, as in real code.
            state = f"{state}.{trace[-1].key[:12] if draw % 2 else draw}"
        return trace, Leaf(catalog=f"c{_mixed(state + '!') % 100}")


def _mixed(text: str) -> int:
    total = 7
    for letter in text:
        total = (total * 1_000_003 + ord(letter)) % 2_147_483_647
    return total


def ask(question: Question, node: Node, files: Node) -> Answer:
    match question:
        case FactPath((name,)):
            return node.get(str(name), ABSENT)
        case FileDigest(path):
            return files.get(path, ABSENT)
    raise AssertionError(question)


class StoredTree:
    """The tree as the database stores it: chains by their branch points, in their stored form."""

    def __init__(self) -> None:
        self.rows: dict[BranchPoint, tuple[str, bytes, Leaf]] = {}

    def find(self, branch_point: BranchPoint) -> Chain | None:
        row = self.rows.get(branch_point)
        return None if row is None else Chain(row[0], decode_links(row[1]), row[2])

    def add(self, trace: Sequence[Link], leaf: Leaf) -> bool:
        branch_point, at = ROOT, 0
        while (chain := self.find(branch_point)) is not None:
            divergence, at = follow_chain(trace, at, chain)
            if divergence is None:
                assert chain.leaf == leaf
                return False
            branch_point = divergence
        self.rows[branch_point] = (f"c{len(self.rows)}", encode_links(tuple(trace[at:])), leaf)
        return True


def walk(tree: StoredTree, walker: Walker, node: Node, files: Node) -> ReachedLeaf | MissingBranch:
    """Walk a node; chains that are not cached are loaded from the rows."""
    while True:
        result = walker.walk(lambda question: ask(question, node, files))
        if isinstance(result, ReachedLeaf):
            return result
        chain = tree.find(result.branch_point)
        if chain is None:
            return result
        walker.add_chain(result.branch_point, chain)


nodes = st.lists(
    st.dictionaries(st.sampled_from(["f0", "f1", "f2", "f3"]), st.sampled_from(VALUES), max_size=4),
    min_size=1,
    max_size=12,
)
versions = st.lists(
    st.dictionaries(st.sampled_from(["m0", "m1", "m2", "m3"]), st.sampled_from(["x", "y"]), max_size=4),
    min_size=1,
    max_size=4,
)


@given(seed=st.integers(0, 10**6), depth=st.integers(0, 12), fleet=nodes, files=versions)
@settings(deadline=None)
def test_walk_finds_what_a_cold_compile_gives_for_every_node_and_version(
    seed: int, depth: int, fleet: list[Node], files: list[Node]
) -> None:
    program, tree = Program(seed, depth), StoredTree()
    compiles: set[tuple[Any, ...]] = set()
    for version in files:
        walker = Walker(lambda question, version=version: ask(question, {}, version))  # type: ignore[misc]
        for node in fleet:
            trace, leaf = program.run(node, version)
            result = walk(tree, walker, node, version)
            if isinstance(result, MissingBranch):
                # No trace is compiled twice: the same reads with the same answers never occurred before.
                reads = tuple((link.question, link.key) for link in trace)
                assert reads not in compiles
                compiles.add(reads)
                assert tree.add(trace, leaf)
                result = walk(tree, walker, node, version)
            assert isinstance(result, ReachedLeaf)
            assert result.leaf == leaf
            assert not tree.add(trace, leaf)
    assert len(tree.rows) == len(compiles)
