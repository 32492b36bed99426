"""Presence heals by itself: after a server was paused or its database failed, the database says again which nodes are connected."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from lab.postgres import PostgresServer
from lab.session import Peer, Store
from lab.site import Site
from precast.wire import sessions as session
from precast.wire.sessions import Record

# A fault lasts until its consequence shows, at most this long.
FAULT_S = 60.0
# What was promised: presence is right within this time after the end of a fault.
HEALED_S = 10.0


@pytest.fixture(scope="module")
def site(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    url = postgres.url(postgres.create_database())
    with Site(tmp_path_factory.mktemp("site") / "data", url) as running:
        yield running


@contextmanager
def second_server(site: Site) -> Iterator[Site]:
    other = site.twin()
    other.start()
    try:
        yield other
    finally:
        os.kill(other.pid, signal.SIGCONT)
        other.close()


async def wait_for_presence(site: Site, node: str, *, is_connected: bool, deadline_s: float) -> float:
    """Wait until the site says so, and return how long it took. Raises TimeoutError."""
    began_s = time.monotonic()
    async with asyncio.timeout(deadline_s):
        while ((await asyncio.to_thread(site.session_of, node))["away_since"] is None) is not is_connected:
            await asyncio.sleep(0.1)
    return time.monotonic() - began_s


@contextmanager
def paused(pid: int) -> Iterator[Callable[[], None]]:
    """Pause a process for the block, or until the yielded function is called."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield lambda: os.kill(pid, signal.SIGCONT)
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.timeout(180)
async def test_server_paused_beyond_its_lease_has_its_nodes_back_within_seconds(site: Site) -> None:
    """Its nodes stay connected all the time: the server registers their sessions again, and orders reach them."""
    context = site.enrol("paused1").context()
    with second_server(site) as other:
        async with Peer(other.url, context, Store()) as node:
            await node.greet()
            with paused(other.pid):
                await wait_for_presence(site, "paused1", is_connected=False, deadline_s=FAULT_S)
                # The lease has run out; now the other server also ends the sessions.
                await asyncio.sleep(7)
            healed_s = await wait_for_presence(site, "paused1", is_connected=True, deadline_s=HEALED_S)
            print(f"\nhealed after {healed_s:.1f} s")
            await asyncio.to_thread(site.run, "facts", "collect", "paused1")
            async with asyncio.timeout(HEALED_S):
                assert (await node.expect(Record)).kind == session.COLLECT
