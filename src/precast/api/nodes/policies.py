"""Routes about policies: people set and see them, a node downloads its own."""

from precast.api.http.routes import NODE, OPERATOR, VIEWER, Call, Document, NodeCaller, route
from precast.api.nodes.nodes import TARGETS
from precast.services.identity import issues as identity_issues
from precast.services.issues import BAD_VALUE, NO_SUCH_NODE, UNPRINTABLE
from precast.services.nodes import issues as node_issues
from precast.services.nodes.policies import PolicyService
from precast.wire import issues as wire_issues
from precast.wire.nodes.bodies import NodesActionResult
from precast.wire.nodes.policy import NodesPolicy, PolicyView

_POLICY_ERRORS = (wire_issues.BAD_WINDOW, node_issues.BAD_WINDOWS, BAD_VALUE, UNPRINTABLE)


class PoliciesApi:
    """Handles the routes of policies."""

    def __init__(self, policies: PolicyService) -> None:
        self._policies = policies

    @route(
        "POST",
        "/v1/policies",
        OPERATOR,
        "Set what the agents of nodes may do by themselves",
        NodesActionResult,
        body=NodesPolicy,
        errors=(*TARGETS, *_POLICY_ERRORS),
    )
    async def set_policy(self, call: Call) -> NodesActionResult:
        return await self._policies.set(call.body, call.actor, call.credential)

    @route(
        "GET",
        "/v1/nodes/{node}/policy",
        VIEWER,
        "What a node's agent may do by itself",
        PolicyView,
        errors=(NO_SUCH_NODE,),
    )
    async def show(self, call: Call) -> PolicyView:
        return await self._policies.show(call.path["node"])

    @route(
        "GET",
        "/v1/policy",
        NODE,
        "The signed policy of the calling node; 304 if the node has it already",
        Document,
        errors=(node_issues.NO_POLICY, identity_issues.SIGNER_UNAVAILABLE),
        headers=("If-None-Match",),
    )
    async def fetch(self, call: Call) -> Document:
        assert isinstance(call.caller, NodeCaller), "the route requires it"
        known = call.headers.get("If-None-Match", "").strip('"')
        tag, body = await self._policies.sign(call.caller.name, known)
        return Document(tag, body, {})
