"""Routes about nodes: which are meant, what is known of them, what is done to them."""

from precast.api.http.routes import Call, Route, Routes, person
from precast.services import issues
from precast.services.nodes.nodes import NodeService
from precast.services.query.targets import TargetService
from precast.wire import issues as wire_issues
from precast.wire.nodes.bodies import (
    NodeRow,
    NodesClassification,
    NodesDeed,
    NodesDone,
    NodesPurge,
    NodeView,
    TargetsAnswer,
    TargetsBody,
)

TARGETS = (
    wire_issues.TARGET_SYNTAX,
    wire_issues.UNKNOWN_FIELD,
    wire_issues.BAD_PATTERN,
    wire_issues.TARGET_TOO_LARGE,
    wire_issues.NO_TARGETS,
    issues.ALL_AND_SOME,
    issues.NO_SUCH_NODE,
    issues.NOBODY,
    issues.TARGETS_TOO_SLOW,
)


class NodesApi:
    """Joins the services of nodes to their routes."""

    def __init__(self, nodes: NodeService, targets: TargetService) -> None:
        self._nodes = nodes
        self._targets = targets

    def declare(self, routes: Routes) -> None:
        viewer, operator, admin = person("viewer"), person("operator"), person("admin")
        deed = (*TARGETS, issues.BAD_VALUE, issues.UNPRINTABLE)
        for route in (
            Route(
                "POST",
                "/v1/targets",
                self.resolve,
                viewer,
                "The nodes that targets mean, by name",
                TargetsAnswer,
                body=TargetsBody,
                query=("after",),
                errors=TARGETS,
            ),
            Route("GET", "/v1/nodes", self.list, viewer, "All nodes by name", list[NodeRow], query=("after",)),
            Route(
                "GET",
                "/v1/nodes/{node}",
                self.show,
                viewer,
                "What is known of a node",
                NodeView,
                errors=(issues.NO_SUCH_NODE,),
            ),
            Route(
                "POST",
                "/v1/classifications",
                self.classify,
                operator,
                "Set environment or role of nodes",
                NodesDone,
                body=NodesClassification,
                errors=(*TARGETS, issues.BAD_CLASSIFICATION),
            ),
            Route(
                "POST",
                "/v1/deactivations",
                self.deactivate,
                operator,
                "Take nodes out of service",
                NodesDone,
                body=NodesDeed,
                errors=deed,
            ),
            Route(
                "POST",
                "/v1/reactivations",
                self.reactivate,
                operator,
                "Take them back into service",
                NodesDone,
                body=NodesDeed,
                errors=deed,
            ),
            Route(
                "POST",
                "/v1/collections",
                self.collect,
                operator,
                "Have nodes collect their facts and send them",
                NodesDone,
                body=NodesDeed,
                errors=deed,
            ),
            Route(
                "POST",
                "/v1/purges",
                self.purge,
                admin,
                "Forget nodes and everything about them but the audit log",
                NodesDone,
                body=NodesPurge,
                errors=(*deed, issues.STILL_ACTIVE, issues.STILL_CONNECTED),
            ),
        ):
            routes.add(route)

    async def resolve(self, call: Call) -> TargetsAnswer:
        return await self._targets.page(call.body, call.query.get("after", ""))

    async def list(self, call: Call) -> list[NodeRow]:
        return await self._nodes.everyone(call.query.get("after", ""))

    async def show(self, call: Call) -> NodeView:
        return await self._nodes.show(call.path["node"])

    async def classify(self, call: Call) -> NodesDone:
        return await self._nodes.classify(call.body, call.actor)

    async def deactivate(self, call: Call) -> NodesDone:
        return await self._nodes.deactivate(call.body, call.actor)

    async def reactivate(self, call: Call) -> NodesDone:
        return await self._nodes.reactivate(call.body, call.actor)

    async def collect(self, call: Call) -> NodesDone:
        return await self._nodes.collect(call.body, call.actor)

    async def purge(self, call: Call) -> NodesDone:
        return await self._nodes.purge(call.body, call.actor)
