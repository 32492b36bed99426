"""The trace tree against programs made at random: what a walk finds is what a compile of that node would give, for every node.

A program is a decision tree over questions: it asks one, and what it asks next depends on the answer. That is all a compile is to
the tree. The fleet's facts, and the files of the environment, change between rounds.
"""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from precast.lang.inputs import ABSENT, Answer, FactPath, FileDigest, Question
from precast.services.traces.chains import ROOT, Chain, Leaf, Link, Place, decode_links, encode_links, link
from precast.services.traces.grafting import part
from precast.services.traces.walking import Found, Missing, Walker

VALUES: list[Answer] = ["a", "b", 1, True, 1.0, None, ABSENT, [1], {"k": "v"}]
Node = dict[str, Answer]


class Program:
    """Asks up to `depth` questions; which, and what comes out, is drawn from the answers so far."""

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
                trace.append(link(question, answer))
            # One answer in two does not matter for what follows, as in real code.
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


class Tree:
    """What the database keeps: chains by their places, through their stored form."""

    def __init__(self) -> None:
        self.rows: dict[Place, tuple[str, bytes, Leaf]] = {}

    def find(self, place: Place) -> Chain | None:
        row = self.rows.get(place)
        return None if row is None else Chain(row[0], decode_links(row[1]), row[2])

    def graft(self, trace: Sequence[Link], leaf: Leaf) -> bool:
        place, at = ROOT, 0
        while (chain := self.find(place)) is not None:
            found, at = part(trace, at, chain)
            if found is None:
                assert chain.leaf == leaf
                return False
            place = found
        self.rows[place] = (f"c{len(self.rows)}", encode_links(tuple(trace[at:])), leaf)
        return True


def decided(tree: Tree, walker: Walker, node: Node, files: Node) -> Found | Missing:
    """The walk, with what memory lacks brought from the rows."""
    while True:
        found = walker.walk(lambda question: ask(question, node, files))
        if isinstance(found, Found):
            return found
        chain = tree.find(found.place)
        if chain is None:
            return found
        walker.learn(found.place, chain)


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
    program, tree = Program(seed, depth), Tree()
    compiles: set[tuple[Any, ...]] = set()
    for version in files:
        walker = Walker(lambda question, version=version: ask(question, {}, version))  # type: ignore[misc]
        for node in fleet:
            trace, leaf = program.run(node, version)
            found = decided(tree, walker, node, version)
            if isinstance(found, Missing):
                # Nothing is compiled that was compiled before: the same reads were never met.
                reads = tuple((link.question, link.key) for link in trace)
                assert reads not in compiles
                compiles.add(reads)
                assert tree.graft(trace, leaf)
                found = decided(tree, walker, node, version)
            assert isinstance(found, Found)
            assert found.leaf == leaf
            assert not tree.graft(trace, leaf)
    assert len(tree.rows) == len(compiles)
