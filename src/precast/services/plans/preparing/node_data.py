"""The nodes of a plan as it sees them: their roles and tags, and the data that conditions and expressions read.

Roles and tags come from the classification of a node and from its certificate, never from its facts: facts are the node's claims. An
expression may read facts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from precast.plans.model import PlanNode
from precast.services.compile.inputs import NodeInput, NodeInputs, node_data
from precast.store.engine.database import Database
from precast.store.nodes.nodes import ROLE_EXTENSION

# Nodes whose data is read in one transaction.
PAGE = 100
# Parameters of a node that list its roles and its tags, besides its role.
ROLES, TAGS = "roles", "tags"


class NodesOfPlan(NamedTuple):
    """The nodes, the data of each, and what all of them have in common."""

    nodes: list[PlanNode]
    data: Mapping[str, dict[str, Any]]
    common: dict[str, Any]


class PlanNodes:
    """Reads the nodes of plans; holds no state between calls."""

    def __init__(self, database: Database, inputs: NodeInputs) -> None:
        self._database, self._inputs = database, inputs

    async def read(self, names: Sequence[str], master: str) -> NodesOfPlan:
        """Read nodes in the order of their names."""
        found: list[NodeInput] = []
        for start in range(0, len(names), PAGE):
            page = sorted(names)[start : start + PAGE]
            found += await self._database.read(self._inputs.read, page, also_without_code=True)
        nodes = [make_node(node, master) for node in found]
        own = {node.node: make_data(node, plan_node) for node, plan_node in zip(found, nodes, strict=True)}
        return NodesOfPlan(nodes, own, make_common(nodes))


def make_node(node: NodeInput, master: str) -> PlanNode:
    vouched = node.vouched
    role = vouched.role or vouched.extensions.get(ROLE_EXTENSION)
    roles = [role] if role else []
    roles += [name for name in _names(vouched.parameters.get(ROLES)) if name not in roles]
    tags = [name for name in _names(vouched.parameters.get(TAGS)) if name not in roles]
    return PlanNode(node.node, tuple(roles), (*tags, *sorted(vouched.classes)), node.node == master)


def make_data(node: NodeInput, own: PlanNode) -> dict[str, Any]:
    """The data of a node: its parameters, and beside them what is known of it."""
    return {
        **node.vouched.parameters,
        "uid": node.node,
        "name": node.node,
        "roles": list(own.roles),
        "tags": list(own.tags),
        "classes": node.vouched.classes,
        "environment": node.environment,
        "facts": node.facts,
        "trusted": node_data(node).trusted,
    }


def make_common(nodes: Sequence[PlanNode]) -> dict[str, Any]:
    """What all nodes have in common: the names and roles of the nodes of the run, as Fuel has them."""
    known = {
        node.name: {"uid": node.name, "name": node.name, "fqdn": node.name, "node_roles": list(node.roles)}
        for node in nodes
    }
    return {"network_metadata": {"nodes": known}}


def _names(value: object) -> Iterable[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
