"""Presence heals by itself: after a server was paused or its database failed, the database says again which nodes are connected."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.cluster.faults import flushing_slowly, stopped
from lab.postgres import PostgresServer
from lab.session import Peer, Store
from lab.site import Site
from precast.services.sessions.server_presence import LEASE_S
from precast.wire import sessions as session
from precast.wire.sessions import Record

# A fault lasts until its consequence shows, at most this long.
FAULT_S = 60.0
# Presence heals by itself; before, it stayed wrong for good. How fast it heals is measured by the long test of a cluster.
HEALED_S = 60.0


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    """A PostgreSQL that no other test waits for while it is frozen."""
    with PostgresServer(is_in_memory=True) as running:
        yield running


@pytest.fixture(scope="module")
def site(database: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    url = database.url(database.create_database())
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


@pytest.mark.timeout(180)
async def test_server_paused_beyond_its_lease_has_its_nodes_back_within_seconds(site: Site) -> None:
    """Its nodes stay connected all the time: the server registers their sessions again, and orders reach them."""
    context = site.enrol("paused1").context()
    with second_server(site) as other:
        async with Peer(other.url, context, Store()) as node:
            await node.greet()
            with stopped(other.pid):
                await wait_for_presence(site, "paused1", is_connected=False, deadline_s=FAULT_S)
                # The lease has run out; now the other server also ends the sessions.
                await asyncio.sleep(7)
            healed_s = await wait_for_presence(site, "paused1", is_connected=True, deadline_s=HEALED_S)
            print(f"\nhealed after {healed_s:.1f} s")
            await asyncio.to_thread(site.run, "facts", "collect", "paused1")
            async with asyncio.timeout(HEALED_S):
                assert (await node.expect(Record)).kind == session.COLLECT


@pytest.mark.timeout(180)
async def test_hello_that_a_paused_server_reads_late_neither_moves_the_node_nor_counts_as_a_copy(site: Site) -> None:
    """The node has given up on the paused server, and is connected to another one when the first goes on."""
    context, store = site.enrol("late1").context(), Store()
    with second_server(site) as other:
        abandoned = Peer(other.url, context, store)
        async with abandoned:
            with stopped(other.pid):
                store.attempts.insert(0, "abandoned")
                await abandoned.send_message(store.hello())
                abandoned.socket.transport.abort()
                async with Peer(site.url, context, store) as node:
                    welcome = await node.greet()
                    os.kill(other.pid, signal.SIGCONT)
                    # The other server serves again, and has handled the late hello before the request that follows it.
                    await wait_for_presence(other, "late1", is_connected=True, deadline_s=HEALED_S)
                    async with Peer(other.url, site.enrol("late2").context(), Store()) as later:
                        await later.greet()
                    presence = await asyncio.to_thread(site.session_of, "late1")
                    assert presence["server"].endswith(f":{site.port}")
                    assert (presence["epoch"], presence["held_at"]) == (welcome.epoch, None)


@pytest.mark.timeout(180)
async def test_database_frozen_beyond_the_leases_has_all_nodes_back_within_seconds(
    site: Site, database: PostgresServer
) -> None:
    """Whichever server goes on first ends the sessions of the other: both leases have run out."""
    with second_server(site) as other:
        async with (
            Peer(site.url, site.enrol("frozen1").context(), Store()) as first,
            Peer(other.url, site.enrol("frozen2").context(), Store()) as second,
        ):
            await first.greet()
            await second.greet()
            with stopped(database.pid):
                await asyncio.sleep(LEASE_S + 2)
            for name in ("frozen1", "frozen2"):
                await wait_for_presence(site, name, is_connected=True, deadline_s=HEALED_S)
            await asyncio.to_thread(site.run, "facts", "collect", "frozen1", "frozen2")
            async with asyncio.timeout(HEALED_S):
                assert (await first.expect(Record)).kind == (await second.expect(Record)).kind == session.COLLECT


@pytest.mark.needs("strace")
@pytest.mark.timeout(300)
async def test_node_stays_present_while_flushes_of_the_database_take_seconds(
    site: Site, database: PostgresServer
) -> None:
    """A lease may run out once, before the server knows how long a renewal takes now."""
    with second_server(site) as other:
        async with Peer(other.url, site.enrol("slow1").context(), Store()) as node:
            await node.greet()
            with flushing_slowly(database.pid):
                await asyncio.sleep(LEASE_S + 2)
                await wait_for_presence(site, "slow1", is_connected=True, deadline_s=FAULT_S)
            await wait_for_presence(site, "slow1", is_connected=True, deadline_s=HEALED_S)
            await asyncio.to_thread(site.run, "facts", "collect", "slow1")
            async with asyncio.timeout(HEALED_S):
                assert (await node.expect(Record)).kind == session.COLLECT
