"""The route of queries. Whoever is held to some environments sees what is in these."""

from precast.api.http.routes import OWN, Call, Route, Routes, person
from precast.api.nodes.nodes import TARGETS
from precast.services.query import issues
from precast.services.query.service import QueryService
from precast.wire.query.bodies import QueryAnswer, QueryBody

LIMIT_S = 30.0


class QueriesApi:
    """Joins the service of queries to its route."""

    def __init__(self, queries: QueryService) -> None:
        self._queries = queries

    def declare(self, routes: Routes) -> None:
        routes.add(
            Route(
                "POST",
                "/v1/queries",
                self.ask,
                person("viewer", OWN),
                "What is known of nodes, of resources in released catalogs and of reports; a page of a table, or counts",
                QueryAnswer,
                body=QueryBody,
                errors=(
                    *TARGETS,
                    issues.NOT_INDEXED,
                    issues.BAD_CURSOR,
                    issues.BAD_LIMIT,
                    issues.TOO_MANY_GROUPS,
                    issues.TOO_SLOW,
                    issues.NO_SUCH_ENTITY,
                ),
                limit_s=LIMIT_S,
            )
        )

    async def ask(self, call: Call) -> QueryAnswer:
        return await self._queries.answer(call.body, call.environments)
