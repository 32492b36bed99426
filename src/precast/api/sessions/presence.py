"""Routes about where nodes are."""

import msgspec

from precast.api.http.routes import Call, Route, Routes, person
from precast.services import issues
from precast.store.sessions.sessions import Sessions
from precast.wire.nodes.presence import ServerRow, SessionView


class SessionsApi:
    """Joins sessions to their routes."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def declare(self, routes: Routes) -> None:
        for route in (
            Route(
                "GET",
                "/v1/nodes/{node}/session",
                self.show,
                person("viewer"),
                "Where a node is connected, or since when it is away",
                SessionView,
                errors=(issues.NEVER_CAME,),
            ),
            Route(
                "GET",
                "/v1/servers",
                self.servers,
                person("viewer"),
                "The servers of this site, by id",
                list[ServerRow],
                query=("after",),
            ),
        ):
            routes.add(route)

    async def show(self, call: Call) -> SessionView:
        found = await self._sessions.presence(call.path["node"])
        if found is None:
            raise issues.NEVER_CAME.error(node=call.path["node"])
        return msgspec.convert(found, SessionView, from_attributes=True)

    async def servers(self, call: Call) -> list[ServerRow]:
        rows = await self._sessions.servers(call.query.get("after", ""))
        return [msgspec.convert(row, ServerRow, from_attributes=True) for row in rows]
