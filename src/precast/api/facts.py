"""Routes about facts."""

from precast.api.routes import NODE, Call, Node, Route, Routes, person
from precast.services import issues
from precast.services.facts import FactService
from precast.wire.facts import FactChangeRow, FactsAnswer, FactsBody, FactsView


class FactsApi:
    """Joins the fact service to its routes."""

    def __init__(self, facts: FactService) -> None:
        self._facts = facts

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
                errors=(issues.WRONG_DIGEST,),
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
        ):
            routes.add(route)

    async def submit(self, call: Call) -> FactsAnswer:
        assert isinstance(call.caller, Node), "the route requires it"
        return await self._facts.submit(call.caller.name, call.body)

    async def show(self, call: Call) -> FactsView:
        return await self._facts.show(call.path["node"])

    async def changes(self, call: Call) -> list[FactChangeRow]:
        return await self._facts.changes(call.path["node"])
