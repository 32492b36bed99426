"""The route of queries. A token that is limited to some environments sees only rows of these."""

from precast.api.http.routes import OWN, Call, person, route
from precast.api.nodes.nodes import TARGETS
from precast.services.query import issues
from precast.services.query.queries import QueryService
from precast.wire.query.bodies import QueryAnswer, QueryBody

LIMIT_S = 30.0


class QueriesApi:
    """Handles the route of queries."""

    def __init__(self, queries: QueryService) -> None:
        self._queries = queries

    @route(
        "POST",
        "/v1/queries",
        person("viewer", OWN),
        "Query nodes, resources in released catalogs, or reports; the answer is a page of rows, or counts",
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
    async def ask(self, call: Call) -> QueryAnswer:
        return await self._queries.answer(call.body, call.environments)
