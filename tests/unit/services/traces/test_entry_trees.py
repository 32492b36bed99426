"""One trace tree serves all entry points of an environment: the entry point is the first read of every trace."""

from collections.abc import Sequence
from itertools import permutations

import pytest

from precast.lang.compile import CompileFailure, compile_catalog
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings
from precast.services.traces.chains import ROOT, Chain, Leaf, Link, decode_links, encode_links, make_link
from precast.services.traces.walker import MissingBranch, ReachedLeaf, Walker

FILES = {
    "manifests/site.pp": "include web\n",
    "modules/web/manifests/init.pp": "class web { notify { $facts['colour']: } }\n",
    "modules/web/examples/web.pp": "include web\n",
    "first.pp": "notify { 'first': }\n",
}
ENTRIES = ("", "modules/web/examples/web.pp", "first.pp", "missing.pp")
STORE = FileStore(TextTree(FILES))


def answers(entry: str, colour: str = "red") -> NodeAnswers:
    return NodeAnswers(NodeData("a.example", {"colour": colour}, {"certname": "a.example"}, entry=entry), STORE)


def trace(entry: str) -> tuple[Link, ...]:
    given = Inputs(answers(entry))
    if entry == "missing.pp":
        with pytest.raises(CompileFailure, match=r"missing\.pp"):
            compile_catalog(given, Settings())
    else:
        compile_catalog(given, Settings())
    return decode_links(encode_links(tuple(make_link(read.question, read.answer) for read in given.trace)))


def grown(entries: Sequence[str]) -> Walker:
    """A tree to which the traces of these entry points were added in turn."""
    walker = Walker(answers("").answer)
    for entry in entries:
        walk = walker.walk(answers(entry).answer)
        assert isinstance(walk, MissingBranch)
        # Only the first read is common to all.
        rest = trace(entry)[0 if walk.branch_point == ROOT else 1 :]
        walker.add_chain(walk.branch_point, Chain(f"chain of {entry}", rest, Leaf(catalog=entry)))
    return walker


@pytest.mark.parametrize("order", list(permutations(ENTRIES)))
def test_walk_ends_at_the_leaf_of_its_entry_point_whichever_was_compiled_first(order: tuple[str, ...]) -> None:
    walker = grown(order)
    for entry in ENTRIES:
        walk = walker.walk(answers(entry).answer)
        assert isinstance(walk, ReachedLeaf)
        assert walk.leaf.catalog == entry
        assert len(walk.path) <= 2


def test_answer_of_the_node_that_differs_ends_the_walk_in_the_branch_of_its_entry_point() -> None:
    walker = grown(ENTRIES)
    assert isinstance(walker.walk(answers("first.pp", "blue").answer), ReachedLeaf)
    walk = walker.walk(answers("modules/web/examples/web.pp", "blue").answer)
    assert isinstance(walk, MissingBranch)
    assert walk.branch_point.chain == "chain of modules/web/examples/web.pp"
