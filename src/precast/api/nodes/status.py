"""The route about the state of the site."""

from precast.api.http.routes import Call, Route, Routes, person
from precast.services.nodes.status import StatusService
from precast.wire.nodes.status import StatusView


class StatusApi:
    """Joins the status service to its route."""

    def __init__(self, status: StatusService) -> None:
        self._status = status

    def declare(self, routes: Routes) -> None:
        routes.add(Route("GET", "/v1/status", self.show, person("viewer"), "The state of the site", StatusView))

    async def show(self, call: Call) -> StatusView:
        return await self._status.show()
