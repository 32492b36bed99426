"""Routes about facts."""

from datetime import UTC, datetime

from precast.api.http.routes import NODE, Call, Node, Route, Routes, person
from precast.base.clock import Clock
from precast.services import issues
from precast.services.facts.differences import FactDifferences
from precast.services.facts.facts import FactService
from precast.wire.facts import FactChangeRow, FactsAnswer, FactsBody, FactsDifference, FactsView


class FactsApi:
    """Joins the fact service to its routes."""

    def __init__(self, facts: FactService, differences: FactDifferences, clock: Clock) -> None:
        self._facts = facts
        self._differences = differences
        self._clock = clock

    def declare(self, routes: Routes) -> None:
        for route in (
            Route(
                "POST",
                "/v1/facts",
                self.submit,
                NODE,
                "Keep the calling node's facts",
                FactsAnswer,
                body=FactsBody,
                errors=(issues.WRONG_DIGEST, issues.NO_MAPPING),
            ),
            Route(
                "GET",
                "/v1/nodes/{node}/facts",
                self.show,
                person("viewer"),
                "The facts of a node, and what came of them",
                FactsView,
                errors=(issues.NO_FACTS,),
            ),
            Route(
                "GET",
                "/v1/nodes/{node}/facts/changes",
                self.changes,
                person("viewer"),
                "How a node's stable facts changed, newest first",
                list[FactChangeRow],
            ),
            Route(
                "GET",
                "/v1/nodes/{node}/facts/difference",
                self.differ,
                person("viewer"),
                "How a node's stable facts differ from another's, or from what they were",
                FactsDifference,
                query=("other", "since"),
                errors=(issues.NO_FACTS, issues.BAD_DIFFERENCE, issues.TOO_MUCH_CHANGED),
            ),
        ):
            routes.add(route)

    async def submit(self, call: Call) -> FactsAnswer:
        assert isinstance(call.caller, Node), "the route requires it"
        return await self._facts.submit(call.caller.name, call.body)

    async def show(self, call: Call) -> FactsView:
        return await self._facts.show(call.path["node"])

    async def changes(self, call: Call) -> list[FactChangeRow]:
        return await self._facts.changes(call.path["node"])

    async def differ(self, call: Call) -> FactsDifference:
        node, other, since = call.path["node"], call.query.get("other"), call.query.get("since")
        if (other is None) is (since is None):
            raise issues.BAD_DIFFERENCE.error(problem="exactly one of them is needed")
        if other is not None:
            return await self._differences.between(node, other)
        return await self._differences.since(node, _moment(since or ""), self._clock.now())


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise issues.BAD_DIFFERENCE.error(problem="this is no time") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
