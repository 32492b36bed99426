"""A server that runs for months renews its certificate on an open port, while a connection stays open."""

import asyncio
import ssl
from datetime import UTC, datetime
from http.client import HTTPSConnection
from pathlib import Path

import uvloop

from precast.api.http.tls import RENEW_BEFORE
from precast.base import https
from precast.base.clock import ManualClock
from precast.services.identity.authority import SERVER_FOR
from tests.e2e.in_process import serving
from tests.e2e.precast_command import DEADLINE_S

PERIOD = SERVER_FOR - RENEW_BEFORE


def ask(connection: HTTPSConnection) -> bytes:
    """Request the health page, and return the certificate that the server presented."""
    connection.request("GET", "/health/live")
    came = connection.getresponse()
    assert (came.status, came.read()) == (200, b'{"status":"live"}')
    assert isinstance(connection.sock, ssl.SSLSocket)
    return connection.sock.getpeercert(binary_form=True) or b""


async def story(directory: Path) -> None:
    # OpenSSL uses the machine's time, so the simulated time must end at about the present.
    clock = ManualClock(datetime.now(UTC) - PERIOD)
    async with serving(directory, clock) as (tls, port, authority):

        def open_connection() -> HTTPSConnection:
            return HTTPSConnection("127.0.0.1", port, context=https.trust_authority(authority), timeout=DEADLINE_S)

        early, late = open_connection(), open_connection()
        try:
            before = await asyncio.to_thread(ask, early)
            clock.advance(PERIOD.total_seconds())
            assert await tls.renew_if_due()
            after = await asyncio.to_thread(ask, late)
            assert after != before
            assert await asyncio.to_thread(ask, early) == before
        finally:
            early.close()
            late.close()


def test_server_certificate_is_renewed_on_an_open_port(tmp_path: Path) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(story(tmp_path))
