"""The route that traces a resource back to its line, its commit and its release."""

from precast.api.http.routes import Call, Route, Routes, person
from precast.services import issues
from precast.services.catalogs.origins import OriginService
from precast.wire.catalogs.origins import OriginView

# Walking back through large trees takes its time.
LIMIT_S = 30.0


class OriginsApi:
    """Joins the service to its route."""

    def __init__(self, origins: OriginService) -> None:
        self._origins = origins

    def declare(self, routes: Routes) -> None:
        routes.add(
            Route(
                "GET",
                "/v1/nodes/{node}/origin",
                self.find,
                person("viewer"),
                "Where a resource of a node's catalog is declared, who last changed that, and which release brought it",
                OriginView,
                query=("resource", "catalog"),
                errors=(issues.NO_CATALOG, issues.NO_SUCH_RESOURCE),
                limit_s=LIMIT_S,
            )
        )

    async def find(self, call: Call) -> OriginView:
        query = call.query
        return await self._origins.find(call.path["node"], query.get("resource", ""), query.get("catalog", ""))
