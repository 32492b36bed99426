"""The HTTP server: one TLS port, every request authorised before its body is read, every error a problem with a code.

uvloop is required: TLS of the standard library's event loop costs six times the memory for each connection.
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

from precast.api.http import issues, openapi, reference_page
from precast.api.http.callers import Callers, Visitor, session_cookie
from precast.api.http.deadlines import DeadlineError, Deadlines
from precast.api.http.metrics import Metrics
from precast.api.http.quotas import Quotas
from precast.api.http.responses import problem, respond
from precast.api.http.routes import PUBLIC, Call, Caller, Page, Route, Routes
from precast.api.http.routing import Found, Table
from precast.base import digests
from precast.base.errors import DeniedError, PrecastError, UnauthenticatedError

log = logging.getLogger("precast.api")
# Of what is below requests. Whoever sends what is no HTTP gets 400; a traceback for each would fill the log of a server that
# strangers can reach.
http_log = logging.getLogger("precast.http")
http_log.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))

MAX_BODY_BYTES = 256 * 1024
# After a restart every node comes at once; who finds no place here has to begin its handshake anew.
BACKLOG = 4096
# What is under way when the server stops may take this long.
SHUTDOWN_S = 10.0


class HttpServer:
    """Serves routes, from `start` to `stop`."""

    def __init__(self, routes: Routes, callers: Callers, metrics: Metrics, quotas: Quotas) -> None:
        self._routes = routes
        self._callers = callers
        self._metrics = metrics
        self._quotas = quotas
        metrics.declare(routes)
        routes.add(Route("GET", "/v1/openapi.json", self._describe, PUBLIC, "This description", dict[str, Any]))
        routes.add(Route("GET", "/v1/reference", self._refer, PUBLIC, "This description, for people", Page))
        self._table = Table(())
        self._runner: web.ServerRunner | None = None
        self._looking: asyncio.Task[None] | None = None
        self._deadlines = Deadlines()

    async def start(self, host: str, port: int, context: ssl.SSLContext, *, is_shared: bool = False) -> int:
        """Listen, alone or beside other processes of ours; the port. Raises OSError if that cannot be."""
        self._table = Table(self._routes)
        server = web.Server(
            self._serve,
            request_factory=partial(web.BaseRequest, loop=asyncio.get_running_loop(), client_max_size=MAX_BODY_BYTES),
            access_log=None,
            # Bodies are taken as they come: unpacking would let a small one become a large one.
            auto_decompress=False,
            logger=http_log,
            # Also for a head that does not come to its end, from the first byte on.
            keepalive_timeout=self._quotas.limits.idle_s,
        )
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=SHUTDOWN_S)
        await self._runner.setup()
        self._looking = asyncio.create_task(self._deadlines.run())
        site = web.TCPSite(self._runner, host, port, ssl_context=context, backlog=BACKLOG, reuse_port=is_shared or None)
        await site.start()
        addresses = self._runner.addresses
        return int(addresses[0][1])

    async def stop(self) -> None:
        """Finish what is under way, then close."""
        if self._runner is not None:
            await self._runner.cleanup()
        if self._looking is not None:
            self._looking.cancel()

    async def _describe(self, call: Call) -> dict[str, Any]:
        return openapi.describe(self._routes)

    async def _refer(self, call: Call) -> Page:
        return Page(reference_page.render(openapi.describe(self._routes)), reference_page.HEADERS)

    def _nowhere(self, request: web.BaseRequest) -> web.Response:
        # An address that is spelt out goes before one with parameters that would fit too, as in the description.
        named = {route.method for route in self._routes if route.path == request.path}
        fitting = {route.method for route in self._routes if route.is_at(request.path)}
        allowed = ", ".join(sorted(named or fitting))
        if not allowed:
            return problem(issues.NO_ROUTE.error())
        response = problem(issues.WRONG_METHOD.error(method=request.method, allowed=allowed), 405)
        response.headers["Allow"] = allowed
        return response

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        found = self._table.find(request.method, request.rel_url.raw_path)
        if found is None:
            return self._nowhere(request)
        route = found.route
        if route.is_socket:  # it lasts; the hub counts those
            return await self._answer(found, request)
        started_s = time.monotonic()
        self._metrics.under_way += 1
        try:
            response = await self._answer(found, request)
        finally:
            self._metrics.under_way -= 1
        self._metrics.count(route.path, response.status, time.monotonic() - started_s)
        return response

    async def _answer(self, found: Found, request: web.BaseRequest) -> web.StreamResponse:
        """The boundary of the HTTP side: whatever happens becomes an answer."""
        route = found.route
        try:
            cookie = session_cookie(request.headers, lambda: request.cookies)
            caller, who = await self._admit(found, request, cookie)
            self._quotas.enter(who)
            try:
                call = await self._read(found, request, caller, cookie)
                return respond(await self._handle(route, call))
            finally:
                self._quotas.leave(who)
        except PrecastError as error:
            return problem(error)
        except Exception:
            log.exception("%s failed", route.name)
            return problem(issues.FAILED.error())

    async def _admit(self, found: Found, request: web.BaseRequest, cookie: str) -> tuple[Caller, str]:
        """Who is calling, if they may, and as whom they count."""
        route, callers, quotas = found.route, self._callers, self._quotas
        transport = request.transport
        connection = transport.get_extra_info("ssl_object") if transport is not None else None
        header = f"Session {cookie}" if cookie else request.headers.get("Authorization")
        visitor = callers.visitor(connection, request.remote)
        stranger = visitor.mark
        if route.is_free:
            return await callers.authorise(route.requires, header, visitor), f"free {stranger}"
        quotas.admit(stranger, _credential(visitor, header))
        quotas.enter(stranger)
        try:
            caller = await callers.authorise(route.requires, header, visitor, found.path.get("environment"))
        except (UnauthenticatedError, DeniedError):
            quotas.count_stranger(stranger)
            raise
        finally:
            quotas.leave(stranger)
        if caller is None:
            quotas.count_stranger(stranger)
            return None, stranger
        return caller, caller.actor

    async def _read(self, found: Found, request: web.BaseRequest, caller: Caller, cookie: str) -> Call:
        """The request as a handler sees it."""
        route = found.route
        body: Any = request if route.takes_request else None
        if route.body is not None and body is None:
            body = await self._read_body(route.body, request)
        query = {name: request.query[name] for name in route.query if name in request.query}
        if (found.path or query) and not all(map(str.isprintable, (*found.path.values(), *query.values()))):
            raise issues.NO_ROUTE.error()
        headers = {name: request.headers[name] for name in route.headers if name in request.headers}
        return Call(caller, found.path, query, body, request.remote or "", headers, cookie)

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
            raise issues.BAD_BODY.error(reason="it is cut off, or not encoded as its headers say") from None
        try:
            return msgspec.json.decode(raw, type=form)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise issues.BAD_BODY.error(reason=error) from None


def _credential(visitor: Visitor, header: str | None) -> str:
    """What somebody shows, empty if that is nothing: guessing tokens is limited like everything else."""
    if visitor.serial is not None:
        return visitor.mark
    return digests.of_bytes(header.encode()) if header else ""
