"""Two servers on one PostgreSQL: orders reach nodes of either, a node that moves is fenced, nodes of a dead server count as offline."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.postgres import PostgresServer
from lab.session import Peer, Store
from lab.site import Site
from precast.wire import sessions as session
from precast.wire.sessions import Record


@pytest.fixture(scope="module")
def site(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    url = postgres.url(postgres.create_database())
    with Site(tmp_path_factory.mktemp("site") / "data", url) as running:
        yield running


@contextmanager
def second_server(site: Site) -> Iterator[Site]:
    """Another server process of the same site, on another port."""
    other = site.twin()
    other.start()
    try:
        yield other
    finally:
        other.close()


async def test_order_given_to_one_server_reaches_the_node_of_the_other(site: Site) -> None:
    context = site.enrol("far1").context()
    with second_server(site) as other:
        async with Peer(other.url, context, Store()) as node:
            await node.greet()
            await asyncio.to_thread(site.run, "facts", "collect", "far1")
            async with asyncio.timeout(20):
                assert (await node.expect(Record)).kind == session.COLLECT


async def test_node_that_moves_is_fenced_at_its_old_server(site: Site) -> None:
    context, store = site.enrol("moves1").context(), Store()
    with second_server(site) as other:
        async with Peer(site.url, context, store) as first:
            await first.greet()
            async with Peer(other.url, context, store) as second:
                assert (await second.greet()).epoch == 2
                async with asyncio.timeout(20):
                    assert await first.closed() == session.CLOSE_FENCED
                presence = await asyncio.to_thread(site.session_of, "moves1")
                assert presence["server"].endswith(f":{other.port}")


async def test_revocation_at_one_server_closes_the_connection_at_the_other(site: Site) -> None:
    context = site.enrol("stolen2").context()
    with second_server(site) as other:
        async with Peer(other.url, context, Store()) as node:
            await node.greet()
            await asyncio.to_thread(site.run, "ca", "revoke", "stolen2")
            async with asyncio.timeout(20):
                assert await node.closed() == session.CLOSE_REVOKED


async def test_nodes_of_a_killed_server_count_as_offline_and_reconnect_elsewhere(site: Site) -> None:
    context, store = site.enrol("orphan1").context(), Store()
    with second_server(site) as other:
        async with Peer(other.url, context, store) as node:
            await node.greet()
            other.kill()
            await node.closed()
    async with asyncio.timeout(40):
        while (await asyncio.to_thread(site.session_of, "orphan1"))["away_since"] is None:
            await asyncio.sleep(0.2)
    async with Peer(site.url, context, store) as node:
        assert (await node.greet()).epoch == 2
