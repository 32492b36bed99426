"""Routes of a browser's session: sign in with a token, see whose it is, sign out.

The secret is in a cookie that no script can read, that goes to this server over TLS only, and with no request that another site caused.
"""

import msgspec
from aiohttp import web

from precast.api.http import issues
from precast.api.http.callers import COOKIE, WEB_HEADER
from precast.api.http.routes import OWN, PUBLIC, Call, Route, Routes, person
from precast.services import issues as service_issues
from precast.services.identity.people import Person
from precast.services.identity.web_sessions import WebSessionService
from precast.wire.identity.web_sessions import SignIn, WebSessionView


class WebSessionsApi:
    """Joins the service of sessions to its routes."""

    def __init__(self, sessions: WebSessionService) -> None:
        self._sessions = sessions

    def declare(self, routes: Routes) -> None:
        looking = person("viewer", OWN)
        for route in (
            Route(
                "POST",
                "/v1/web/session",
                self.begin,
                PUBLIC,
                "Exchange a token for a session of this browser, which can look and change nothing",
                WebSessionView,
                body=SignIn,
                errors=(service_issues.BAD_SIGN_IN, service_issues.NO_LOOKING, issues.FOREIGN_PAGE),
                headers=(WEB_HEADER,),
            ),
            Route("GET", "/v1/web/session", self.show, looking, "Whose session this is", WebSessionView),
            Route("DELETE", "/v1/web/session", self.end, looking, "End the session of this browser", WebSessionView),
        ):
            routes.add(route)

    async def begin(self, call: Call) -> web.Response:
        """Only a page of ours can send the header: nobody is signed in as somebody else by another site."""
        if call.headers.get(WEB_HEADER) != "1":
            raise issues.FOREIGN_PAGE.error(header=WEB_HEADER)
        begun = await self._sessions.begin(call.body.token)
        response = _answer(begun.person)
        _set(response, begun.cookie, begun.seconds)
        return response

    async def show(self, call: Call) -> WebSessionView:
        assert isinstance(call.caller, Person), "the route requires it"
        return WebSessionView(call.caller.name, call.caller.environments)

    async def end(self, call: Call) -> web.Response:
        assert isinstance(call.caller, Person), "the route requires it"
        await self._sessions.end(call.cookie)
        response = _answer(call.caller)
        _set(response, "", 0)
        return response


def _answer(who: Person) -> web.Response:
    body = msgspec.json.encode(WebSessionView(who.name, who.environments))
    return web.Response(body=body, content_type="application/json", headers={"Cache-Control": "no-store"})


def _set(response: web.Response, value: str, seconds: int) -> None:
    response.set_cookie(COOKIE, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="Strict")
