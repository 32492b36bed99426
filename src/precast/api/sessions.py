"""Routes about where nodes are, and what they are told to do."""

import msgspec

from precast.api.routes import Call, Route, Routes, person
from precast.services import issues
from precast.services.sessions import SessionService
from precast.store.sessions import Sessions
from precast.wire.identity import Deed
from precast.wire.presence import Ordered, ServerRow, SessionView


class SessionsApi:
    """Joins sessions to their routes."""

    def __init__(self, service: SessionService, sessions: Sessions) -> None:
        self._service = service
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
            Route(
                "POST",
                "/v1/nodes/{node}/collect",
                self.collect,
                person("operator"),
                "Have a node collect its facts and send them",
                Ordered,
                body=Deed,
                errors=(issues.NO_SUCH_NODE,),
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

    async def collect(self, call: Call) -> Ordered:
        number = await self._service.order_facts(call.path["node"], call.actor, call.body.why)
        presence = await self._sessions.presence(call.path["node"])
        return Ordered(number, presence is not None and presence.server is not None)
