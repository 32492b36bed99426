"""The route about the state of the site."""

from precast.api.http.routes import VIEWER, Call, route
from precast.services.nodes.status import StatusService
from precast.wire.nodes.status import StatusView


class StatusApi:
    """Handles the route of the site's status."""

    def __init__(self, status: StatusService) -> None:
        self._status = status

    @route("GET", "/v1/status", VIEWER, "The status of the site", StatusView)
    async def show(self, call: Call) -> StatusView:
        return await self._status.show()
