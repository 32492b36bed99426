"""Which nodes a plan means: selectors are matched with the roles and the tags of nodes, never with their names.

`*` means all nodes, `master` the node that was named as the master, `/…/` a regular expression anchored at its start, anything else exactly
that role or tag. A node's name is no role, so that a plan stays the same when nodes come and go; to run a part of a plan on certain nodes,
choose them when it starts.
"""

from collections.abc import Iterable, Sequence

from precast.plans.model import PlanNode
from precast.plans.names import NameMatcher

ALL, MASTER = "*", "master"


def resolve_nodes(selectors: Iterable[str], nodes: Sequence[PlanNode]) -> list[PlanNode]:
    """The nodes that any of the selectors means, in their order. Raises InputError PLAN-030 or PLAN-031 for an expression."""
    found = NodeRoles(nodes, NameMatcher()).resolve(selectors)
    return [node for node in nodes if node.name in found]


class NodeRoles:
    """The nodes of a plan by role and tag. Equal answers are the same object, so that they are compared quickly."""

    def __init__(self, nodes: Iterable[PlanNode], names: NameMatcher) -> None:
        self._names = names
        self._nodes_of: dict[str, set[str]] = {}
        self._all: set[str] = set()
        self._masters: set[str] = set()
        self._answers: dict[tuple[str, ...], frozenset[str]] = {}
        self._sets: dict[frozenset[str], frozenset[str]] = {}
        for node in nodes:
            self._all.add(node.name)
            if node.is_master:
                self._masters.add(node.name)
            for role in (*node.roles, *node.tags):
                self._nodes_of.setdefault(role, set()).add(node.name)

    @property
    def roles(self) -> list[str]:
        """All roles and tags."""
        return list(self._nodes_of)

    def resolve(self, selectors: Iterable[str]) -> frozenset[str]:
        """The names of the nodes that any of the selectors means. Raises InputError PLAN-030 or PLAN-031 for an expression."""
        key = tuple(selectors)
        if key not in self._answers:
            self._answers[key] = self.share(frozenset().union(*map(self._resolve_one, key)))
        return self._answers[key]

    def share(self, nodes: frozenset[str]) -> frozenset[str]:
        """The one object that stands for this set of nodes."""
        return self._sets.setdefault(nodes, nodes)

    def _resolve_one(self, selector: str) -> set[str]:
        if selector == ALL:
            return self._all
        if selector == MASTER:
            return self._masters
        return set().union(*(self._nodes_of[role] for role in self._names.find(selector, self._nodes_of)))
