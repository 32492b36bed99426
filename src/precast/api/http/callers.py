"""Who is calling: a person by token or by the session of a browser, a node by certificate, or nobody."""

import ssl
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from precast.api.http import issues
from precast.api.http.routes import ENVIRONMENT, SITE, Caller, Node, Requirement
from precast.base import digests
from precast.base.errors import PrecastError
from precast.services.identity import roles
from precast.services.identity.people import PeopleService, Person
from precast.services.identity.recognition import RecognitionService
from precast.services.identity.web_sessions import WebSessionService
from precast.wire import issues as wire_issues

# Where a browser keeps its session. The prefix makes it hold to this host, and to TLS.
COOKIE = "__Host-precast"
# No page of another site can send this; a cookie counts only beside it.
WEB_HEADER = "X-Precast-Web"


def session_cookie(headers: Mapping[str, str], cookies: Callable[[], Mapping[str, str]]) -> str:
    """The session of a browser, if a page of ours has caused the request; empty if there is none."""
    if headers.get(WEB_HEADER) != "1" or "Authorization" in headers:
        return ""
    # Browsers say who caused a request. Only our own pages may, whatever the cookie's own rules let through.
    if headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        return ""
    return cookies().get(COOKIE, "")


class Visitor(NamedTuple):
    """Somebody who is not known yet: as whom they count, and the serial of the certificate they have shown, if any.

    By certificate, if TLS has seen one of our authority's: a whole fleet may come from the address of a load balancer.
    """

    mark: str
    serial: str | None


class Callers:
    """Recognises callers and holds them to what a route requires. Denies by default."""

    def __init__(
        self, people: PeopleService, nodes: RecognitionService, browsers: WebSessionService | None = None
    ) -> None:
        self._people = people
        self._nodes = nodes
        self._browsers = browsers
        # It stays for as long as the connection: what was shown is read once.
        self._visitors: WeakKeyDictionary[ssl.SSLObject, Visitor] = WeakKeyDictionary()

    def visitor(self, connection: ssl.SSLObject | None, address: str | None) -> Visitor:
        """Who comes over a connection."""
        if connection is None:
            return Visitor(f"address {address}", None)
        known = self._visitors.get(connection)
        if known is None:
            known = self._visitors[connection] = _look(connection, address)
        return known

    async def authorise(
        self,
        requires: Requirement,
        header: str | None,
        visitor: Visitor,
        environment: str | None = None,
    ) -> Caller:
        """The caller, if they are what is required, for the environment that the path names, if it names one.

        Raises UnauthenticatedError API-001, API-002 or DeniedError API-003.
        """
        if requires.sort == "public":
            return None
        if requires.sort == "node":
            return await self._node(requires, visitor.serial)
        return await self._person(requires, header, environment)

    async def _person(self, requires: Requirement, header: str | None, environment: str | None) -> Person:
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() not in ("bearer", "session") or not token:
            raise issues.NO_CREDENTIALS.error(needed=requires)
        who = await (self._by_session(token) if scheme.lower() == "session" else self._by_token(token))
        if who is None:
            raise issues.BAD_CREDENTIALS.error()
        if not roles.includes(who.role, requires.role):
            raise issues.NOT_ALLOWED.error(needed=requires)
        if who.environments:
            _hold_to(who, requires.scope, environment)
        return who

    async def _by_token(self, token: str) -> Person | None:
        try:
            return await self._people.recognise(token)
        except PrecastError as error:
            if not wire_issues.BAD_TOKEN.matches(error):
                raise
            return None

    async def _by_session(self, cookie: str) -> Person | None:
        shown = await self._browsers.recognise(cookie) if self._browsers is not None else None
        return shown.person if shown is not None else None

    async def _node(self, requires: Requirement, serial: str | None) -> Node:
        if serial is None:
            raise issues.NO_CREDENTIALS.error(needed=requires)
        # TLS has checked signature and time when the connection began; it may have ended or been taken back since.
        known = await self._nodes.recognise(serial)
        if known is None:
            raise issues.BAD_CREDENTIALS.error()
        return Node(known.node, known.extensions, known.serial, known.not_after)


def _look(connection: ssl.SSLObject, address: str | None) -> Visitor:
    shown = connection.getpeercert(binary_form=True)
    if not shown:
        return Visitor(f"address {address}", None)
    told: dict[str, Any] = connection.getpeercert() or {}
    return Visitor(f"certificate {digests.of_bytes(shown)[:16]}", str(told["serialNumber"]).lower().lstrip("0"))


def _hold_to(who: Person, scope: str, environment: str | None) -> None:
    """A token for some environments opens what is inside one of them, and lists that show no others. Raises DeniedError API-003."""
    if scope == SITE:
        raise issues.NOT_ALLOWED.error(needed="a token for all environments")
    if scope == ENVIRONMENT and environment not in who.environments:
        raise issues.NOT_ALLOWED.error(needed=f"a token for the environment {(environment or '')[:100]}")
