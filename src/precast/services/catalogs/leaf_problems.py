"""Reads the problems of catalogs from the leaves of the trace trees: nodes that share a leaf share its problems."""

from collections.abc import Iterable

from precast.services.catalogs.releases import NAMES_SHOWN
from precast.services.traces.chains import Leaf
from precast.services.traces.paths import decode_leaf
from precast.store.catalogs.staged import StagedCatalog
from precast.store.engine.query import Transaction
from precast.store.traces import Traces
from precast.wire.catalogs.bodies import CommonProblem, ProblemView


def view_problems(leaf: Leaf) -> list[ProblemView]:
    return [ProblemView(problem.code, problem.text, problem.hint) for problem in leaf.problems]


def read_leaves(traces: Traces, chains: Iterable[str]) -> Transaction[dict[str, Leaf]]:
    """The leaf of each of these chains; an empty one for a chain that no longer exists."""
    leaves = {}
    for chain in dict.fromkeys(chains):
        attached = yield from traces.find_by_id(chain)
        leaves[chain] = Leaf() if attached is None else decode_leaf(attached.chain)
    return leaves


def group_problems(traces: Traces, staged: Iterable[StagedCatalog]) -> Transaction[list[CommonProblem]]:
    """The problems of staged catalogs, the most common first."""
    flawed = [catalog for catalog in staged if catalog.problems]
    leaves = yield from read_leaves(traces, (catalog.chain for catalog in flawed))
    nodes: dict[ProblemView, list[str]] = {}
    for catalog in flawed:
        for problem in view_problems(leaves[catalog.chain]):
            nodes.setdefault(problem, []).append(catalog.node)
    most_common = sorted(nodes.items(), key=lambda pair: (-len(pair[1]), pair[0].text))
    return [CommonProblem(problem, names[:NAMES_SHOWN], len(names)) for problem, names in most_common]
