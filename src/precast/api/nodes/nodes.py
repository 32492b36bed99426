"""Routes about nodes: resolve targets, show nodes, and classify, deactivate, reactivate or purge them."""

from precast.api.http.routes import ADMIN, OPERATOR, VIEWER, Call, route
from precast.services.issues import BAD_VALUE, NO_SUCH_NODE, UNPRINTABLE
from precast.services.nodes import issues as node_issues
from precast.services.nodes.nodes import NodeService
from precast.services.query import issues as query_issues
from precast.services.query.targets import TargetService
from precast.services.sessions import issues as session_issues
from precast.wire import issues as wire_issues
from precast.wire.nodes.bodies import (
    NodeRow,
    NodesAction,
    NodesActionResult,
    NodesClassification,
    NodesPurge,
    NodeView,
    TargetsAnswer,
    TargetsBody,
)
from precast.wire.nodes.presence import MachineChoice, NodeMachines

TARGETS = (
    wire_issues.TARGET_SYNTAX,
    wire_issues.UNKNOWN_FIELD,
    wire_issues.BAD_PATTERN,
    wire_issues.TARGET_TOO_LARGE,
    wire_issues.NO_TARGETS,
    query_issues.ALL_AND_TARGETS,
    NO_SUCH_NODE,
    query_issues.NO_MATCHING_NODES,
    query_issues.TARGETS_TOO_SLOW,
)


_CHANGE_ERRORS = (*TARGETS, BAD_VALUE, UNPRINTABLE)


class NodesApi:
    """Handles the routes of nodes."""

    def __init__(self, nodes: NodeService, targets: TargetService) -> None:
        self._nodes = nodes
        self._targets = targets

    @route(
        "POST",
        "/v1/targets",
        VIEWER,
        "The nodes that match targets, by name",
        TargetsAnswer,
        body=TargetsBody,
        query=("after",),
        errors=TARGETS,
    )
    async def resolve(self, call: Call) -> TargetsAnswer:
        return await self._targets.resolve_page(call.body, call.query.get("after", ""))

    @route("GET", "/v1/nodes", VIEWER, "All nodes by name", list[NodeRow], query=("after",))
    async def list_nodes(self, call: Call) -> list[NodeRow]:
        return await self._nodes.list_page(call.query.get("after", ""))

    @route("GET", "/v1/nodes/{node}", VIEWER, "A node's state", NodeView, errors=(NO_SUCH_NODE,))
    async def show(self, call: Call) -> NodeView:
        return await self._nodes.show(call.path["node"])

    @route(
        "POST",
        "/v1/classifications",
        OPERATOR,
        "Set the environment or role of nodes",
        NodesActionResult,
        body=NodesClassification,
        errors=(*TARGETS, node_issues.BAD_CLASSIFICATION),
    )
    async def classify(self, call: Call) -> NodesActionResult:
        return await self._nodes.classify(call.body, call.actor)

    @route(
        "POST",
        "/v1/deactivations",
        OPERATOR,
        "Deactivate nodes",
        NodesActionResult,
        body=NodesAction,
        errors=_CHANGE_ERRORS,
    )
    async def deactivate(self, call: Call) -> NodesActionResult:
        return await self._nodes.deactivate(call.body, call.actor)

    @route(
        "POST",
        "/v1/reactivations",
        OPERATOR,
        "Reactivate nodes",
        NodesActionResult,
        body=NodesAction,
        errors=_CHANGE_ERRORS,
    )
    async def reactivate(self, call: Call) -> NodesActionResult:
        return await self._nodes.reactivate(call.body, call.actor)

    @route(
        "POST",
        "/v1/collections",
        OPERATOR,
        "Let nodes collect and send their facts now",
        NodesActionResult,
        body=NodesAction,
        errors=_CHANGE_ERRORS,
    )
    async def collect(self, call: Call) -> NodesActionResult:
        return await self._nodes.collect(call.body, call.actor)

    @route(
        "POST",
        "/v1/nodes/{node}/machine",
        OPERATOR,
        "Choose the machine that is a node, if several use its certificate",
        NodeMachines,
        body=MachineChoice,
        errors=(NO_SUCH_NODE, session_issues.NEVER_CONNECTED, session_issues.NO_SUCH_MACHINE, UNPRINTABLE),
    )
    async def choose_machine(self, call: Call) -> NodeMachines:
        return await self._nodes.choose_machine(call.path["node"], call.body, call.actor)

    @route(
        "POST",
        "/v1/purges",
        ADMIN,
        "Delete nodes and all their data except the audit log",
        NodesActionResult,
        body=NodesPurge,
        errors=(*_CHANGE_ERRORS, node_issues.STILL_ACTIVE, node_issues.STILL_CONNECTED),
    )
    async def purge(self, call: Call) -> NodesActionResult:
        return await self._nodes.purge(call.body, call.actor)
