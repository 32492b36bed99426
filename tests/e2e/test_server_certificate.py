"""The certificate of a server that runs for months: made anew on an open port, while a connection goes on."""

import asyncio
import secrets
import ssl
from datetime import UTC, datetime
from http.client import HTTPSConnection
from pathlib import Path

import uvloop

from precast.api.callers import Callers
from precast.api.metrics import Metrics
from precast.api.routes import Routes
from precast.api.server import HttpServer
from precast.api.tls import RENEW_BEFORE, ServerTls
from precast.base import https
from precast.base.clock import ManualClock
from precast.base.ids import TimeOrderedIds
from precast.services.authority import SERVER_FOR, Authority
from precast.services.authority_files import AuthorityFiles, HeldAuthority
from precast.services.people import PeopleService
from precast.services.recognition import RecognitionService
from precast.store.audit import AuditLog
from precast.store.connect import connect
from precast.store.location import SqliteLocation
from precast.store.nodes import Nodes
from precast.store.schema import Schema
from precast.store.tokens import Tokens
from tests.e2e.precast_command import DEADLINE_S

PERIOD = SERVER_FOR - RENEW_BEFORE


def ask(connection: HTTPSConnection) -> bytes:
    """Asks for health; the certificate that the server has shown."""
    connection.request("GET", "/health/live")
    came = connection.getresponse()
    assert (came.status, came.read()) == (200, b'{"status":"live"}')
    assert isinstance(connection.sock, ssl.SSLSocket)
    return connection.sock.getpeercert(binary_form=True) or b""


async def story(directory: Path) -> None:
    # OpenSSL goes by the machine's time, so the story must end about now.
    clock = ManualClock(datetime.now(UTC) - PERIOD)
    files = AuthorityFiles(directory / "authority")
    with files.creating(Authority.new(clock.now())):
        pass
    held = HeldAuthority(files)
    database = await connect(SqliteLocation(directory / "precast.db"), may_create=True, clock=clock)
    await Schema(database).expand()
    ids = TimeOrderedIds(clock)
    audit = AuditLog(database, ids)
    people = PeopleService(database, Tokens(database), audit, ids, secrets)
    callers = Callers(people, RecognitionService(database, Nodes(database), audit))
    tls = ServerTls(held, ["127.0.0.1"], clock)
    server = HttpServer(Routes(), callers, Metrics(database))
    port = await server.start("127.0.0.1", 0, tls.context)

    def open_connection() -> HTTPSConnection:
        return HTTPSConnection("127.0.0.1", port, context=https.trusting(held.current.pem), timeout=DEADLINE_S)

    early, late = open_connection(), open_connection()
    try:
        before = await asyncio.to_thread(ask, early)
        clock.advance(PERIOD.total_seconds())
        assert tls.look()
        after = await asyncio.to_thread(ask, late)
        assert after != before
        assert await asyncio.to_thread(ask, early) == before
    finally:
        early.close()
        late.close()
        await server.stop()
        await database.close()


def test_server_certificate_is_renewed_on_an_open_port(tmp_path: Path) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(story(tmp_path))
