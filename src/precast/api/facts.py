"""Routes about facts."""

from datetime import UTC, datetime

from precast.api.http.routes import NODE, VIEWER, Call, NodeCaller, route
from precast.base.clock import Clock
from precast.services.facts import issues as fact_issues
from precast.services.facts.differences import FactDifferences
from precast.services.facts.service import FactService
from precast.wire.facts import FactChangeRow, FactsAnswer, FactsDifference, FactsView, FactUpload


class FactsApi:
    """Handles the routes of facts."""

    def __init__(self, facts: FactService, differences: FactDifferences, clock: Clock) -> None:
        self._facts = facts
        self._differences = differences
        self._clock = clock

    @route(
        "POST",
        "/v1/facts",
        NODE,
        "Store the facts of the calling node",
        FactsAnswer,
        body=FactUpload,
        errors=(fact_issues.WRONG_DIGEST, fact_issues.NO_MAPPING, fact_issues.HELD_NODE),
    )
    async def submit(self, call: Call) -> FactsAnswer:
        assert isinstance(call.caller, NodeCaller), "the route requires it"
        return await self._facts.submit(call.caller.name, call.body)

    @route(
        "GET",
        "/v1/nodes/{node}/facts",
        VIEWER,
        "The facts of a node, and the decision that they led to",
        FactsView,
        errors=(fact_issues.NO_FACTS,),
    )
    async def show(self, call: Call) -> FactsView:
        return await self._facts.show(call.path["node"])

    @route(
        "GET",
        "/v1/nodes/{node}/facts/changes",
        VIEWER,
        "The changes of a node's stable facts, newest first",
        list[FactChangeRow],
    )
    async def list_changes(self, call: Call) -> list[FactChangeRow]:
        return await self._facts.changes(call.path["node"])

    @route(
        "GET",
        "/v1/nodes/{node}/facts/difference",
        VIEWER,
        "The difference between a node's stable facts and another node's, or its own at an earlier time",
        FactsDifference,
        query=("other", "since"),
        errors=(fact_issues.NO_FACTS, fact_issues.BAD_DIFFERENCE, fact_issues.TOO_MUCH_CHANGED),
    )
    async def compare(self, call: Call) -> FactsDifference:
        node, other, since = call.path["node"], call.query.get("other"), call.query.get("since")
        if (other is None) is (since is None):
            raise fact_issues.BAD_DIFFERENCE.error(problem="give exactly one of other and since")
        if other is not None:
            return await self._differences.between(node, other)
        return await self._differences.since(node, _read_time(since or ""), self._clock.now())


def _read_time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise fact_issues.BAD_DIFFERENCE.error(problem="since is not a time") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
