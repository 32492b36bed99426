"""Routes about approvals. A token for some environments sees and decides the requests of these."""

from precast.api.http.routes import OWN, Call, person, route
from precast.services.approvals import issues
from precast.services.approvals.approvals import ApprovalService, Participant
from precast.services.identity.people import Person
from precast.services.issues import BAD_VALUE, UNPRINTABLE
from precast.wire.approvals.bodies import ApprovalView, DecisionBody

_VIEWER, _OPERATOR = person("viewer", OWN), person("operator", OWN)
_PATH = "/v1/approvals/{request}"
_TEXT_ERRORS = (BAD_VALUE, UNPRINTABLE)
_DECISION_ERRORS = (
    *(issues.NO_REQUEST, issues.NOT_OPEN, issues.OWN_REQUEST, issues.DECIDED, issues.OTHER_DIGEST, issues.ROLE_NEEDED),
    *_TEXT_ERRORS,
)


class ApprovalsApi:
    """Handles the routes of approvals."""

    def __init__(self, approvals: ApprovalService) -> None:
        self._approvals = approvals

    @route(
        "GET",
        "/v1/approvals",
        _VIEWER,
        "The requests for approval that the token may see, the newest first",
        list[ApprovalView],
        query=("before",),
    )
    async def list_requests(self, call: Call) -> list[ApprovalView]:
        return await self._approvals.list_page(call.environments, call.query.get("before", ""))

    @route("GET", _PATH, _VIEWER, "A request for approval", ApprovalView, errors=(issues.NO_REQUEST,))
    async def show(self, call: Call) -> ApprovalView:
        return await self._approvals.show(call.path["request"], call.environments)

    @route(
        "POST",
        f"{_PATH}/approval",
        _OPERATOR,
        "Approve a request of another person; the last approval that it needs carries it out",
        ApprovalView,
        body=DecisionBody,
        errors=_DECISION_ERRORS,
    )
    async def approve(self, call: Call) -> ApprovalView:
        return await self._approvals.approve(call.path["request"], call.body, _participant(call))

    @route(
        "POST",
        f"{_PATH}/rejection",
        _OPERATOR,
        "Reject a request of another person, which ends it",
        ApprovalView,
        body=DecisionBody,
        errors=_DECISION_ERRORS,
    )
    async def reject(self, call: Call) -> ApprovalView:
        return await self._approvals.reject(call.path["request"], call.body, _participant(call))

    @route(
        "POST",
        f"{_PATH}/withdrawal",
        _OPERATOR,
        "Withdraw one's own request",
        ApprovalView,
        body=DecisionBody,
        errors=(issues.NO_REQUEST, issues.NOT_OPEN, issues.NOT_YOURS, *_TEXT_ERRORS),
    )
    async def withdraw(self, call: Call) -> ApprovalView:
        return await self._approvals.withdraw(call.path["request"], call.body, _participant(call))


def _participant(call: Call) -> Participant:
    assert isinstance(call.caller, Person), "the routes require it"
    return Participant(call.actor, call.caller.role, call.environments, call.token)
