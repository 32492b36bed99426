"""Routes of browser sessions: sign in with a token, show whose session it is, sign out.

The secret is in a cookie that scripts cannot read and that browsers send only to this server, only over TLS, and never with a request
that another site has caused.
"""

import msgspec
from aiohttp import web

from precast.api.http import issues
from precast.api.http.authorisation import COOKIE, WEB_HEADER
from precast.api.http.routes import OWN, PUBLIC, Call, person, route
from precast.services.identity import issues as identity_issues
from precast.services.identity.people import Person
from precast.services.identity.web_sessions import WebSessionService
from precast.wire.identity.web_sessions import SignIn, WebSessionView

_VIEWER = person("viewer", OWN)


class WebSessionsApi:
    """Handles the routes of browser sessions."""

    def __init__(self, sessions: WebSessionService) -> None:
        self._sessions = sessions

    @route(
        "POST",
        "/v1/web/session",
        PUBLIC,
        "Sign in: exchange a token for a read-only session of this browser",
        WebSessionView,
        body=SignIn,
        errors=(identity_issues.BAD_SIGN_IN, identity_issues.NO_READ_ACCESS, issues.FOREIGN_PAGE),
        headers=(WEB_HEADER,),
    )
    async def begin(self, call: Call) -> web.Response:
        """Create a session. Only our own pages can send the header, so another site cannot sign a person in as somebody else."""
        if call.headers.get(WEB_HEADER) != "1":
            raise issues.FOREIGN_PAGE.error(header=WEB_HEADER)
        begun = await self._sessions.begin(call.body.token)
        response = _respond(begun.person)
        _set_cookie(response, begun.cookie, begun.seconds)
        return response

    @route("GET", "/v1/web/session", _VIEWER, "The person of this browser's session", WebSessionView)
    async def show(self, call: Call) -> WebSessionView:
        assert isinstance(call.caller, Person), "the route requires it"
        return WebSessionView(call.caller.name, call.caller.environments)

    @route("DELETE", "/v1/web/session", _VIEWER, "Sign out: end the session of this browser", WebSessionView)
    async def end(self, call: Call) -> web.Response:
        assert isinstance(call.caller, Person), "the route requires it"
        await self._sessions.end(call.cookie)
        response = _respond(call.caller)
        _set_cookie(response, "", 0)
        return response


def _respond(person: Person) -> web.Response:
    body = msgspec.json.encode(WebSessionView(person.name, person.environments))
    return web.Response(body=body, content_type="application/json", headers={"Cache-Control": "no-store"})


def _set_cookie(response: web.Response, value: str, seconds: int) -> None:
    response.set_cookie(COOKIE, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="Strict")
