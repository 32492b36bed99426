"""The HTTP server: one TLS port; it authorises every request before it reads the body, and answers every error as a problem with a code.

uvloop is required: TLS of the standard library's event loop needs six times the memory for each connection.
"""

import asyncio
import logging
import ssl
import time
from functools import partial
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from precast.api.http import issues
from precast.api.http.authorisation import Authoriser, ConnectionPeer, session_cookie
from precast.api.http.deadlines import DeadlineError, Deadlines
from precast.api.http.descriptions import DescriptionApi
from precast.api.http.metrics import Metrics
from precast.api.http.quotas import Quotas
from precast.api.http.responses import problem, respond
from precast.api.http.routes import Call, Caller, Route, Routes
from precast.api.http.routing import RouteMatch, RouteTable
from precast.base import digests
from precast.base.errors import DeniedError, PrecastError, UnauthenticatedError

log = logging.getLogger("precast.api")
# For errors below requests. A client that does not send HTTP gets 400; a traceback for each would fill the log of a public server.
http_log = logging.getLogger("precast.http")
http_log.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))

MAX_BODY_BYTES = 256 * 1024
# After a restart all nodes connect at once; a connection beyond the backlog is dropped and has to be retried.
BACKLOG = 4096
# Requests in progress may take this long when the server stops.
SHUTDOWN_S = 10.0


class HttpServer:
    """Serves routes, from `start` to `stop`."""

    def __init__(self, routes: Routes, authoriser: Authoriser, metrics: Metrics, quotas: Quotas) -> None:
        self._routes = routes
        self._authoriser = authoriser
        self._metrics = metrics
        self._quotas = quotas
        routes.collect(metrics)
        routes.collect(DescriptionApi(routes))
        self._table = RouteTable(())
        self._runner: web.ServerRunner | None = None
        self._deadline_checks: asyncio.Task[None] | None = None
        self._deadlines = Deadlines()

    async def start(self, host: str, port: int, context: ssl.SSLContext, *, is_shared: bool = False) -> int:
        """Start to listen and return the port; with `is_shared`, other workers may listen on it too. Raises OSError if it is taken."""
        self._table = RouteTable(self._routes)
        server = web.Server(
            self._serve,
            request_factory=partial(web.BaseRequest, loop=asyncio.get_running_loop(), client_max_size=MAX_BODY_BYTES),
            access_log=None,
            # Request bodies are not decompressed: a small body could become a large one.
            auto_decompress=False,
            logger=http_log,
            # This also limits how long a request's head may take, from its first byte.
            keepalive_timeout=self._quotas.limits.idle_s,
        )
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=SHUTDOWN_S)
        await self._runner.setup()
        self._deadline_checks = asyncio.create_task(self._deadlines.run())
        site = web.TCPSite(self._runner, host, port, ssl_context=context, backlog=BACKLOG, reuse_port=is_shared or None)
        await site.start()
        addresses = self._runner.addresses
        return int(addresses[0][1])

    async def stop(self) -> None:
        """Finish the requests in progress, then close."""
        if self._runner is not None:
            await self._runner.cleanup()
        if self._deadline_checks is not None:
            self._deadline_checks.cancel()

    def _reject_unknown_path(self, request: web.BaseRequest) -> web.Response:
        # A path without parameters takes precedence over one with parameters that matches too, as in OpenAPI.
        exact = {route.method for route in self._routes if route.path == request.path}
        matching = {route.method for route in self._routes if route.is_at(request.path)}
        allowed = ", ".join(sorted(exact or matching))
        if not allowed:
            return problem(issues.NO_ROUTE.error())
        response = problem(issues.WRONG_METHOD.error(method=request.method, allowed=allowed), 405)
        response.headers["Allow"] = allowed
        return response

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        match = self._table.find(request.method, request.rel_url.raw_path)
        if match is None:
            return self._reject_unknown_path(request)
        route = match.route
        if route.is_socket:  # a session lasts for hours; the session endpoint counts them
            return await self._answer(match, request)
        started_s = time.monotonic()
        self._metrics.in_progress += 1
        try:
            response = await self._answer(match, request)
        finally:
            self._metrics.in_progress -= 1
        self._metrics.count(route.path, response.status, time.monotonic() - started_s)
        return response

    async def _answer(self, match: RouteMatch, request: web.BaseRequest) -> web.StreamResponse:
        """Handle a request. This is the boundary of the HTTP server: every error becomes a response."""
        route = match.route
        try:
            cookie = session_cookie(request.headers, lambda: request.cookies)
            caller, who = await self._admit(match, request, cookie)
            self._quotas.enter(who)
            try:
                call = await self._read(match, request, caller, cookie)
                return respond(await self._handle(route, call))
            finally:
                self._quotas.leave(who)
        except PrecastError as error:
            return problem(error)
        except Exception:
            log.exception("%s failed", route.name)
            return problem(issues.FAILED.error())

    async def _admit(self, match: RouteMatch, request: web.BaseRequest, cookie: str) -> tuple[Caller, str]:
        """Authorise a request. Returns its caller, and the key under which the caller's requests in progress are counted."""
        route, authoriser, quotas = match.route, self._authoriser, self._quotas
        transport = request.transport
        connection = transport.get_extra_info("ssl_object") if transport is not None else None
        header = f"Session {cookie}" if cookie else request.headers.get("Authorization")
        peer = authoriser.identify(connection, request.remote)
        stranger = peer.quota_key
        if route.is_free:
            return await authoriser.authorise(route.requires, header, peer), f"free {stranger}"
        quotas.admit(stranger, _credential(peer, header))
        quotas.enter(stranger)
        try:
            caller = await authoriser.authorise(route.requires, header, peer, match.path.get("environment"))
        except (UnauthenticatedError, DeniedError):
            quotas.count_stranger(stranger)
            raise
        finally:
            quotas.leave(stranger)
        if caller is None:
            quotas.count_stranger(stranger)
            return None, stranger
        return caller, caller.actor

    async def _read(self, match: RouteMatch, request: web.BaseRequest, caller: Caller, cookie: str) -> Call:
        """Read the parts of the request that the route declares."""
        route = match.route
        body: Any = request if route.takes_request else None
        if route.body is not None and body is None:
            body = await self._read_body(route.body, request)
        query = {name: request.query[name] for name in route.query if name in request.query}
        if (match.path or query) and not all(map(str.isprintable, (*match.path.values(), *query.values()))):
            raise issues.NO_ROUTE.error()
        headers = {name: request.headers[name] for name in route.headers if name in request.headers}
        return Call(caller, match.path, query, body, request.remote or "", headers, cookie)

    async def _handle(self, route: Route, call: Call) -> Any:
        if route.takes_request:
            return await route.handler(call)
        limit_s = route.limit_s or self._quotas.limits.handler_s
        try:
            return await self._deadlines.within(limit_s, route.handler(call))
        except DeadlineError:
            raise issues.TOOK_TOO_LONG.error(limit_s=limit_s) from None

    async def _read_body(self, form: type[msgspec.Struct], request: web.BaseRequest) -> Any:
        limit_s = self._quotas.limits.body_s
        try:
            raw = await self._deadlines.within(limit_s, request.read())
        except DeadlineError:
            raise issues.TOO_SLOW.error(limit_s=limit_s) from None
        except web.HTTPRequestEntityTooLarge:
            raise issues.TOO_LARGE.error(limit=MAX_BODY_BYTES) from None
        except (web.RequestPayloadError, ConnectionError):
            raise issues.BAD_BODY.error(reason="it is incomplete, or not encoded as its headers say") from None
        try:
            return msgspec.json.decode(raw, type=form)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise issues.BAD_BODY.error(reason=error) from None


def _credential(peer: ConnectionPeer, header: str | None) -> str:
    """A key for the presented credentials, empty if there are none. Also invalid tokens have one, so guessing tokens is rate-limited."""
    if peer.certificate is not None:
        return peer.quota_key
    return digests.of_bytes(header.encode()) if header else ""
