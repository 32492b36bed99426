"""A node as a compile sees it, made from what is stored about it. The same data answers a walk through the trace tree."""

from collections.abc import Sequence
from typing import Any

import msgspec

from precast.lang.answers import NodeData
from precast.lang.settings import PUPPET_VERSION
from precast.services.identity.trusted import trusted
from precast.store.code.environments import Environments
from precast.store.engine.query import Transaction
from precast.store.facts.views import reading_some
from precast.store.nodes.nodes import Fleet, Vouched
from precast.wire.facts import merge

# A node of which nobody says an environment is in this one.
DEFAULT_ENVIRONMENT = "production"


class NodeInput(msgspec.Struct, frozen=True):
    """One node as it is known. No version where its environment has no code, and no facts then: nothing asks for them. No digest
    where it has sent none.
    """

    vouched: Vouched
    environment: str
    version: str | None
    facts_digest: str | None
    facts: dict[str, Any]

    @property
    def node(self) -> str:
        return self.vouched.name


class NodeInputs:
    """Gathers what is known of nodes; holds no state."""

    def __init__(self, fleet: Fleet, environments: Environments) -> None:
        self._fleet, self._environments = fleet, environments

    def reading(self, nodes: Sequence[str]) -> Transaction[list[NodeInput]]:
        """The active ones among these nodes, by name."""
        vouched = yield from self._fleet.vouched(nodes)
        facts = yield from reading_some([one.name for one in vouched])
        versions = yield from self._environments.current_versions(
            one.environment or DEFAULT_ENVIRONMENT for one in vouched
        )
        found = []
        for one in vouched:
            environment = one.environment or DEFAULT_ENVIRONMENT
            stored = facts.get(one.name)
            merged: dict[str, Any] = {}
            if stored is not None and versions[environment] is not None:
                merged = merge(_decoded(stored.stable), _decoded(stored.volatile))
            digest = None if stored is None else stored.digest
            found.append(NodeInput(one, environment, versions[environment], digest, merged))
        return found

    def of_environment(self, environment: str, after: str, limit: int) -> Transaction[list[str]]:
        """A page of the active nodes of an environment, by name."""
        names = yield from self._fleet.in_environment(environment, after, limit)
        if environment == DEFAULT_ENVIRONMENT:
            names = sorted({*names, *(yield from self._fleet.in_environment(None, after, limit))})[:limit]
        return names


# What Puppet's agent adds to the facts it sends; a node that says otherwise is believed.
_OF_AGENTS = {"clientnoop": False, "clientversion": PUPPET_VERSION, "puppetversion": PUPPET_VERSION}


def node_data(known: NodeInput) -> NodeData:
    """Facts are claims of the node; `trusted` is what its certificate says, and the fact clientcert is that too; the role is a
    parameter like others.
    """
    vouched = known.vouched
    role = {} if vouched.role is None else {"role": vouched.role}
    return NodeData(
        vouched.name,
        {**_OF_AGENTS, **known.facts, "clientcert": vouched.name},
        trusted(vouched.name, vouched.extensions),
        vouched.classes,
        {**role, **vouched.parameters},
    )


def _decoded(data: bytes) -> dict[str, Any]:
    return msgspec.json.decode(data, type=dict[str, Any])
