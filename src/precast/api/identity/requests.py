"""Routes about certificate requests that an operator signs or rejects."""

from precast.api.http.routes import OPERATOR, PUBLIC, VIEWER, Call, route
from precast.services.identity import issues as identity_issues
from precast.services.identity.requests import RequestService
from precast.services.issues import BAD_VALUE, UNPRINTABLE
from precast.wire import issues as wire_issues
from precast.wire.identity.bodies import ActionResult, RejectBody, RequestAnswer, RequestBody, RequestRow, SignBody

PAGE = 500


class RequestsApi:
    """Handles the routes of certificate requests."""

    def __init__(self, requests: RequestService) -> None:
        self._requests = requests

    @route(
        "POST",
        "/v1/requests",
        PUBLIC,
        "Request a certificate from an operator, or ask for the decision",
        RequestAnswer,
        body=RequestBody,
        errors=(
            identity_issues.BAD_REQUEST,
            identity_issues.NAME_TAKEN,
            identity_issues.REQUEST_REJECTED,
            identity_issues.TOO_MANY_REQUESTS,
            wire_issues.BAD_NAME,
        ),
    )
    async def submit(self, call: Call) -> RequestAnswer:
        return await self._requests.submit(call.body, call.address)

    @route("GET", "/v1/requests", VIEWER, "The pending requests, by name and key", list[RequestRow], query=("after",))
    async def list_pending(self, call: Call) -> list[RequestRow]:
        node, _, key = call.query.get("after", "").partition(":")
        return [
            RequestRow(request.node, request.key_digest, request.address, request.requested_at, request.expires_at)
            for request in await self._requests.list_pending((node, key), PAGE)
        ]

    @route(
        "POST",
        "/v1/requests/{node}/signature",
        OPERATOR,
        "Sign a pending request",
        ActionResult,
        body=SignBody,
        errors=(
            identity_issues.NO_SUCH_REQUEST,
            identity_issues.AMBIGUOUS_REQUEST,
            identity_issues.NAME_TAKEN,
            identity_issues.UNKNOWN_EXTENSION,
            BAD_VALUE,
            UNPRINTABLE,
        ),
    )
    async def sign(self, call: Call) -> ActionResult:
        signature: SignBody = call.body
        node, fingerprint = call.path["node"], signature.fingerprint
        serial = await self._requests.sign(node, fingerprint, signature.extensions, call.actor, call.credential)
        return ActionResult([serial])

    @route(
        "POST",
        "/v1/requests/{node}/rejection",
        OPERATOR,
        "Reject a pending request",
        ActionResult,
        body=RejectBody,
        errors=(identity_issues.NO_SUCH_REQUEST, BAD_VALUE, UNPRINTABLE),
    )
    async def reject(self, call: Call) -> ActionResult:
        rejection: RejectBody = call.body
        return ActionResult(
            await self._requests.reject(call.path["node"], rejection.fingerprint, rejection.why, call.actor)
        )
