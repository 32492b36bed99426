"""The route that traces a resource back to its line, its commit and its release."""

from precast.api.http.routes import VIEWER, Call, route
from precast.services.catalogs import issues as catalog_issues
from precast.services.catalogs.origins import OriginService
from precast.wire.catalogs.origins import OriginView

# Searching the history of large trees is slow.
LIMIT_S = 30.0


class OriginsApi:
    """Handles the route of origins."""

    def __init__(self, origins: OriginService) -> None:
        self._origins = origins

    @route(
        "GET",
        "/v1/nodes/{node}/origin",
        VIEWER,
        "The line that declares a resource of a node's catalog, its last commit, and the release that introduced it",
        OriginView,
        query=("resource", "catalog"),
        errors=(catalog_issues.NO_CATALOG, catalog_issues.NO_SUCH_RESOURCE),
        limit_s=LIMIT_S,
    )
    async def find(self, call: Call) -> OriginView:
        query = call.query
        return await self._origins.find(call.path["node"], query.get("resource", ""), query.get("catalog", ""))
