"""Authenticates callers and checks what a route requires: a person by token or browser session, a node by certificate, or nobody."""

import ssl
from collections.abc import Callable, Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

from precast.api.http import issues
from precast.api.http.connections.sources import Source, source_of
from precast.api.http.routes import ENVIRONMENT, SITE, Caller, NodeCaller, Requirement
from precast.base import digests
from precast.base.digests import Digest
from precast.base.errors import PrecastError
from precast.services.identity import roles
from precast.services.identity.people import PeopleService, Person
from precast.services.identity.recognition import RecognitionService
from precast.services.identity.web_sessions import WebSessionService
from precast.wire import issues as wire_issues

# The cookie of a browser session. The prefix __Host- binds it to this host and to TLS.
COOKIE = "__Host-precast"
# Pages of other sites cannot send this header; the cookie counts only together with it.
WEB_HEADER = "X-Precast-Web"


def session_cookie(headers: Mapping[str, str], cookies: Callable[[], Mapping[str, str]]) -> str:
    """The cookie of a browser session if one of our own pages has sent the request, otherwise an empty text."""
    if headers.get(WEB_HEADER) != "1" or "Authorization" in headers:
        return ""
    # Sec-Fetch-Site says which site has caused a request. Only our own pages may, whatever the cookie's own rules allow.
    if headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        return ""
    return cookies().get(COOKIE, "")


class ConnectionPeer(NamedTuple):
    """The other end of a connection before it is authenticated: its source for quotas, and its certificate if it has one.

    The source is the certificate where TLS has verified one of our authority: a whole fleet may connect through one load balancer.
    """

    source: Source
    certificate: Digest | None


class Authoriser:
    """Authenticates callers and checks them against what a route requires. Denies by default."""

    def __init__(
        self, people: PeopleService, nodes: RecognitionService, browsers: WebSessionService | None = None
    ) -> None:
        self._people = people
        self._nodes = nodes
        self._browsers = browsers
        # The certificate of a connection is read once and cached for as long as the connection lives.
        self._peers: WeakKeyDictionary[ssl.SSLObject, ConnectionPeer] = WeakKeyDictionary()

    def identify(self, connection: ssl.SSLObject | None, address: str | None) -> ConnectionPeer:
        """The other end of a connection."""
        if connection is None:
            return ConnectionPeer(source_of(address), None)
        peer = self._peers.get(connection)
        if peer is None:
            peer = self._peers[connection] = _read_peer(connection, address)
        return peer

    async def authorise(
        self,
        requires: Requirement,
        header: str | None,
        peer: ConnectionPeer,
        environment: str | None = None,
    ) -> Caller:
        """Authenticate the caller and check them against `requires`, within the environment that the path names, if it names one.

        Raises UnauthenticatedError API-001, API-002 or DeniedError API-003.
        """
        if requires.kind == "public":
            return None
        if requires.kind == "node":
            return await self._authenticate_node(requires, peer.certificate)
        return await self._authenticate_person(requires, header, environment)

    async def _authenticate_person(self, requires: Requirement, header: str | None, environment: str | None) -> Person:
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() not in ("bearer", "session") or not token:
            raise issues.NO_CREDENTIALS.error(needed=requires)
        person = await (self._find_by_session(token) if scheme.lower() == "session" else self._find_by_token(token))
        if person is None:
            raise issues.BAD_CREDENTIALS.error()
        if not any(roles.includes(person.role, role) for role in requires.roles):
            raise issues.NOT_ALLOWED.error(needed=requires)
        if person.environments:
            _check_scope(person, requires.scope, environment)
        return person

    async def _find_by_token(self, token: str) -> Person | None:
        try:
            return await self._people.recognise(token)
        except PrecastError as error:
            if not wire_issues.BAD_TOKEN.matches(error):
                raise
            return None

    async def _find_by_session(self, cookie: str) -> Person | None:
        session = await self._browsers.recognise(cookie) if self._browsers is not None else None
        return session.person if session is not None else None

    async def _authenticate_node(self, requires: Requirement, fingerprint: Digest | None) -> NodeCaller:
        if fingerprint is None:
            raise issues.NO_CREDENTIALS.error(needed=requires)
        # TLS has verified signature and validity when the connection began; the certificate may have expired or been revoked since.
        certificate = await self._nodes.recognise(fingerprint)
        if certificate is None:
            raise issues.BAD_CREDENTIALS.error()
        return NodeCaller(certificate.node, certificate.extensions, certificate.fingerprint, certificate.not_after)


def _read_peer(connection: ssl.SSLObject, address: str | None) -> ConnectionPeer:
    der = connection.getpeercert(binary_form=True)
    if not der:
        return ConnectionPeer(source_of(address), None)
    fingerprint = digests.of_bytes(der)
    return ConnectionPeer(Source(f"certificate {fingerprint[:16]}"), fingerprint)


def _check_scope(person: Person, scope: str, environment: str | None) -> None:
    """A token for some environments opens routes within these, and lists that show only these. Raises DeniedError API-003."""
    if scope == SITE:
        raise issues.NOT_ALLOWED.error(needed="a token for all environments")
    if scope == ENVIRONMENT and environment not in person.environments:
        raise issues.NOT_ALLOWED.error(needed=f"a token for the environment {(environment or '')[:100]}")
