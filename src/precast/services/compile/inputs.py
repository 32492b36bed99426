"""The inputs of a node's compile, read from the database. The same data answers a walk through the trace tree."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from precast.lang.node_answers import NodeData
from precast.lang.trusted_data import trusted_data
from precast.store.code.environments import Environments
from precast.store.engine.query import Transaction
from precast.store.facts.views import read_documents
from precast.store.nodes.nodes import DEFAULT_ENVIRONMENT, CompileInputs, Fleet
from precast.wire.facts import merge


class NodeInput(msgspec.Struct, frozen=True):
    """The inputs of one node. `version` is None if its environment has no code, and the facts are empty then: nothing reads them.
    `facts_digest` is None if the node has sent no facts."""

    vouched: CompileInputs
    environment: str
    version: str | None
    facts_digest: str | None
    facts: dict[str, Any]

    @property
    def node(self) -> str:
        return self.vouched.name


class NodeVersion(NamedTuple):
    """The environment of a node, and its current version; None if nothing is deployed to it."""

    environment: str
    version: str | None


class NodeInputs:
    """Reads the inputs of nodes; holds no state."""

    def __init__(self, fleet: Fleet, environments: Environments) -> None:
        self._fleet, self._environments = fleet, environments

    def read(self, nodes: Sequence[str], *, also_without_code: bool = False) -> Transaction[list[NodeInput]]:
        """The inputs of the active ones among these nodes, by name; the facts of a node without code only if they are asked for."""
        vouched = yield from self._fleet.read_compile_inputs(nodes)
        facts = yield from read_documents([node.name for node in vouched])
        versions = yield from self._environments.find_current_versions(
            node.environment or DEFAULT_ENVIRONMENT for node in vouched
        )
        node_inputs = []
        for node in vouched:
            environment = node.environment or DEFAULT_ENVIRONMENT
            stored = facts.get(node.name)
            merged: dict[str, Any] = {}
            if stored is not None and (also_without_code or versions[environment] is not None):
                merged = merge(_decode(stored.stable), _decode(stored.volatile))
            digest = None if stored is None else stored.digest
            node_inputs.append(NodeInput(node, environment, versions[environment], digest, merged))
        return node_inputs

    def of_environment(self, environment: str, after: str, limit: int) -> Transaction[list[str]]:
        """A page of the active nodes of an environment, by name."""
        names = yield from self._fleet.list_in_environment(environment, after, limit)
        if environment == DEFAULT_ENVIRONMENT:
            names = sorted({*names, *(yield from self._fleet.list_in_environment(None, after, limit))})[:limit]
        return names


def find_versions(
    fleet: Fleet, environments: Environments, nodes: Sequence[str]
) -> Transaction[dict[str, NodeVersion]]:
    """The environment and version of the active ones among these nodes."""
    vouched = yield from fleet.read_compile_inputs(nodes)
    names = {node.name: node.environment or DEFAULT_ENVIRONMENT for node in vouched}
    versions = yield from environments.find_current_versions(names.values())
    return {node: NodeVersion(environment, versions[environment]) for node, environment in names.items()}


def node_data(node_input: NodeInput) -> NodeData:
    """The answers of a node. Facts are claims of the node; `trusted` comes from its certificate; the role is a parameter like others."""
    vouched = node_input.vouched
    role = {} if vouched.role is None else {"role": vouched.role}
    return NodeData(
        vouched.name,
        node_input.facts,
        trusted_data(vouched.name, vouched.extensions),
        vouched.classes,
        {**role, **vouched.parameters},
    )


def _decode(data: bytes) -> dict[str, Any]:
    return msgspec.json.decode(data, type=dict[str, Any])
