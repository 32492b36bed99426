"""Routes about policies: people set and look at them, a node asks for its own."""

from precast.api.http.routes import NODE, Call, Document, Node, Route, Routes, person
from precast.api.nodes.nodes import TARGETS
from precast.services import issues
from precast.services.nodes.policies import PolicyService
from precast.wire import issues as wire_issues
from precast.wire.nodes.bodies import NodesDone
from precast.wire.nodes.policy import NodesPolicy, PolicyView


class PoliciesApi:
    """Joins the service of policies to its routes."""

    def __init__(self, policies: PolicyService) -> None:
        self._policies = policies

    def declare(self, routes: Routes) -> None:
        wrong = (wire_issues.BAD_WINDOW, issues.WINDOWS_NEEDED, issues.BAD_VALUE, issues.UNPRINTABLE)
        for route in (
            Route(
                "POST",
                "/v1/policies",
                self.set,
                person("operator"),
                "Say what the agents of nodes may do by themselves",
                NodesDone,
                body=NodesPolicy,
                errors=(*TARGETS, *wrong),
            ),
            Route(
                "GET",
                "/v1/nodes/{node}/policy",
                self.show,
                person("viewer"),
                "What a node's agent may do by itself",
                PolicyView,
                errors=(issues.NO_SUCH_NODE,),
            ),
            Route(
                "GET",
                "/v1/policy",
                self.give,
                NODE,
                "The calling node's policy, signed; 304 if it has that one",
                Document,
                errors=(issues.NO_POLICY,),
                headers=("If-None-Match",),
            ),
        ):
            routes.add(route)

    async def set(self, call: Call) -> NodesDone:
        return await self._policies.set(call.body, call.actor)

    async def show(self, call: Call) -> PolicyView:
        return await self._policies.show(call.path["node"])

    async def give(self, call: Call) -> Document:
        assert isinstance(call.caller, Node), "the route requires it"
        known = call.headers.get("If-None-Match", "").strip('"')
        serial, body = await self._policies.sign(call.caller.name, int(known) if known.isdecimal() else 0)
        return Document(str(serial), body, {})
