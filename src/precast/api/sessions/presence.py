"""Routes about the presence of nodes and servers."""

import msgspec

from precast.api.http.routes import VIEWER, Call, route
from precast.services.sessions import issues as session_issues
from precast.store.sessions.sessions import Sessions
from precast.wire.nodes.presence import ServerRow, SessionView


class SessionsApi:
    """Handles the routes of presence."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    @route(
        "GET",
        "/v1/nodes/{node}/session",
        VIEWER,
        "The server to which a node is connected, or the time since which it is offline",
        SessionView,
        errors=(session_issues.NEVER_CONNECTED,),
    )
    async def show(self, call: Call) -> SessionView:
        presence = await self._sessions.read_presence(call.path["node"])
        if presence is None:
            raise session_issues.NEVER_CONNECTED.error(node=call.path["node"])
        return msgspec.convert(presence, SessionView, from_attributes=True)

    @route("GET", "/v1/servers", VIEWER, "The servers of this site, by id", list[ServerRow], query=("after",))
    async def list_servers(self, call: Call) -> list[ServerRow]:
        rows = await self._sessions.list_servers(call.query.get("after", ""))
        return [msgspec.convert(row, ServerRow, from_attributes=True) for row in rows]
