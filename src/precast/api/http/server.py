"""The HTTP server: one TLS port; it authorises every request before it reads the body, and answers every error as a problem with a code.

uvloop is required: TLS of the standard library's event loop needs six times the memory for each connection.
"""

import asyncio
import contextlib
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
from precast.api.http.connections.limits import ConnectionLimits
from precast.api.http.connections.listener import GuardedServer, Listener
from precast.api.http.connections.sources import Source
from precast.api.http.deadlines import DeadlineError, Deadlines
from precast.api.http.descriptions import DescriptionApi
from precast.api.http.metrics import Metrics
from precast.api.http.quotas import MAX_BODY_BYTES, MAX_STREAMED_BYTES, Quotas
from precast.api.http.responses import ApiRequest, conceal, problem, respond
from precast.api.http.routes import Call, Caller, Route, Routes
from precast.api.http.routing import RouteMatch, RouteTable
from precast.base import digests
from precast.base.errors import DeniedError, Kind, PrecastError, UnauthenticatedError
from precast.services.identity.people import Person

log = logging.getLogger("precast.api")
# For errors below requests. A client that does not send HTTP gets 400; a traceback for each would fill the log of a public server.
http_log = logging.getLogger("precast.http")
http_log.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))

# The fields of a request's head; aiohttp limits each to 8 KB.
MAX_HEADERS = 64
# After a restart all nodes connect at once; a connection beyond the backlog is dropped and has to be retried.
BACKLOG = 4096
# A method may be as long as a line; the response shows the beginning.
MAX_METHOD_CHARS = 20
# Errors that are not shown to the caller are logged this often: their number is the caller's choice.
LOG_EVERY_S = 1.0
# Requests in progress may take this long when the server stops.
SHUTDOWN_S = 10.0


class HttpServer:
    """Serves routes, from `start` to `stop`."""

    def __init__(
        self,
        routes: Routes,
        authoriser: Authoriser,
        metrics: Metrics,
        quotas: Quotas,
        connection_limits: ConnectionLimits | None = None,
    ) -> None:
        self._routes = routes
        self._connection_limits = connection_limits or ConnectionLimits()
        self._authoriser = authoriser
        self._metrics = metrics
        self._quotas = quotas
        routes.collect(metrics)
        routes.collect(DescriptionApi(routes))
        self._table = RouteTable(())
        self._runner: web.ServerRunner | None = None
        self._listener: Listener | None = None
        self._deadline_checks: asyncio.Task[None] | None = None
        self._deadlines = Deadlines()
        self._last_concealed_s = float("-inf")

    async def start(self, host: str, port: int, context: ssl.SSLContext, *, is_shared: bool = False) -> int:
        """Start to listen and return the port; with `is_shared`, other workers may listen on it too. Raises OSError if it is taken."""
        self._table = RouteTable(self._routes)
        server = GuardedServer(
            self._serve,
            request_factory=partial(ApiRequest, loop=asyncio.get_running_loop(), client_max_size=MAX_BODY_BYTES),
            access_log=None,
            # Request bodies are not decompressed: a small body could become a large one.
            auto_decompress=False,
            max_headers=MAX_HEADERS,
            logger=http_log,
            # This also limits how long a request's head may take, from its first byte.
            keepalive_timeout=self._quotas.limits.idle_s,
        )
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=SHUTDOWN_S)
        await self._runner.setup()
        self._deadline_checks = asyncio.create_task(self._deadlines.run())
        self._listener = Listener(server, context, self._connection_limits)
        self._metrics.counter(
            "precast_connections_refused_total", "Connections closed by a limit.", "reason", self._listener.refused
        )
        strangers = self._listener.strangers
        self._metrics.gauge("precast_stranger_connections", "Unauthenticated connections.", lambda: strangers.open)
        return await self._listener.start(host, port, BACKLOG, is_shared=is_shared)

    async def stop(self) -> None:
        """Finish the requests in progress, then close."""
        if self._listener is not None:
            self._listener.close()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._deadline_checks is not None:
            self._deadline_checks.cancel()

    def _reject_unknown_path(self, request: web.BaseRequest) -> web.Response:
        stranger = self._identify(request).source
        try:
            self._quotas.admit_stranger(stranger)
        except PrecastError as error:
            response = problem(error)
            response.force_close()
            return response
        self._quotas.count_stranger(stranger)
        allowed = ", ".join(self._table.list_methods(request.rel_url.raw_path))
        if not allowed:
            return problem(issues.NO_ROUTE.error())
        response = problem(issues.WRONG_METHOD.error(method=request.method[:MAX_METHOD_CHARS], allowed=allowed), 405)
        response.headers["Allow"] = allowed
        return response

    def _identify(self, request: web.BaseRequest) -> ConnectionPeer:
        transport = request.transport
        connection = transport.get_extra_info("ssl_object") if transport is not None else None
        return self._authoriser.identify(connection, request.remote)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        assert self._listener is not None, "a request has arrived through it"
        self._listener.on_request(request.protocol)
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
        caller: Caller = None
        try:
            cookie = session_cookie(request.headers, lambda: request.cookies)
            caller, who = await self._admit(match, request, cookie)
            self._quotas.enter(who)
            try:
                with self._quotas.receiving(who, _body_bytes(route, request)) if caller is None else _UNLIMITED:
                    call = await self._read(match, request, caller, cookie)
                    return respond(await self._handle(route, call))
            finally:
                self._quotas.leave(who)
        except PrecastError as error:
            response = problem(error if isinstance(caller, Person) else self._conceal(route, error))
            if error.kind is Kind.LIMITED and self._identify(request).certificate is None:
                response.force_close()  # the next request then waits for its turn among the connections of its source
            return response
        except Exception:
            log.exception("%s failed", route.name)
            return problem(issues.FAILED.error())

    def _conceal(self, route: Route, error: PrecastError) -> PrecastError:
        shown = conceal(error, route.errors)
        now_s = time.monotonic()
        if shown is not error and now_s - self._last_concealed_s >= LOG_EVERY_S:
            self._last_concealed_s = now_s
            log.warning("%s failed: %s [%s]", route.name, error.message, error.code)
        return shown

    async def _admit(self, match: RouteMatch, request: web.BaseRequest, cookie: str) -> tuple[Caller, Source]:
        """Authorise a request. Returns its caller, and the source under which the caller's requests in progress are counted."""
        route, authoriser, quotas = match.route, self._authoriser, self._quotas
        header = f"Session {cookie}" if cookie else request.headers.get("Authorization")
        peer = self._identify(request)
        stranger = peer.source
        if route.is_free:  # only public routes are
            return None, stranger._replace(key=f"free {stranger.key}")
        credential = _credential(peer, header)
        quotas.admit(stranger, credential)
        quotas.enter(stranger)
        try:
            caller = await authoriser.authorise(route.requires, header, peer, match.path.get("environment"))
        except (UnauthenticatedError, DeniedError) as error:
            if isinstance(error, UnauthenticatedError):
                quotas.forget(credential)
            quotas.count_stranger(stranger)
            raise
        finally:
            quotas.leave(stranger)
        if caller is None:
            quotas.count_stranger(stranger)
            return None, stranger
        quotas.recognise(credential)
        if isinstance(caller, Person):  # the certificate of a node has done so when the connection began
            assert self._listener is not None, "a request has arrived through it"
            self._listener.authenticate(request.protocol, caller.actor)
        return caller, Source(caller.actor)

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
        return peer.source.key
    return digests.of_bytes(header.encode()) if header else ""


_UNLIMITED = contextlib.nullcontext()


def _body_bytes(route: Route, request: web.BaseRequest) -> int:
    """How much memory the body of a request to a public route may need."""
    if route.body is None and not route.is_stream:
        return 0
    limit = MAX_STREAMED_BYTES if route.is_stream else MAX_BODY_BYTES
    return limit if request.content_length is None else min(request.content_length, limit)
