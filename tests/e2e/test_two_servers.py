"""Two servers on one PostgreSQL: either reaches any node, a node that moves is let go, a dead server's nodes are known to be away."""

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.postgres import PostgresServer
from lab.server_process import PRECAST
from lab.session import Peer, Store
from lab.site import Site
from precast.base import https
from precast.wire import session
from precast.wire.session import Record


@pytest.fixture(scope="module")
def site(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    url = postgres.url(postgres.create_database())
    with Site(tmp_path_factory.mktemp("site") / "data", url) as running:
        yield running


@contextmanager
def second_server(site: Site, tmp_path: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Another process of the same site, on another port; its address."""
    command = [PRECAST, "server", "--data", str(site.directory), *site.database_words, "--listen", "127.0.0.1:0"]
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            assert line.startswith("serving on "), (tmp_path / "log").read_text()
            yield line.split()[-1], process
        finally:
            process.kill()


def session_of(site: Site, url: str, node: str) -> dict[str, Any]:
    authority = Path(site.environment["PRECAST_CA"]).read_text()
    headers = {"Authorization": f"Bearer {site.environment['PRECAST_TOKEN']}"}
    came = https.call(url, https.trusting(authority), "GET", f"/v1/nodes/{node}/session", headers=headers)
    return https.read_answer(url, came, dict[str, Any])


async def test_order_given_to_one_server_reaches_the_node_of_the_other(site: Site, tmp_path: Path) -> None:
    context = site.enrol("far1").context()
    with second_server(site, tmp_path) as (other, _):
        async with Peer(other, context, Store()) as node:
            await node.greet()
            await asyncio.to_thread(site.run, "facts", "collect", "far1")
            async with asyncio.timeout(20):
                assert (await node.expect(Record)).kind == session.COLLECT


async def test_node_that_moves_is_let_go_by_its_old_server(site: Site, tmp_path: Path) -> None:
    context, store = site.enrol("moves1").context(), Store()
    with second_server(site, tmp_path) as (other, _):
        async with Peer(site.url, context, store) as first:
            await first.greet()
            async with Peer(other, context, store) as second:
                assert (await second.greet()).epoch == 2
                async with asyncio.timeout(20):
                    assert await first.closed() == session.CLOSE_FENCED
                shown = await asyncio.to_thread(session_of, site, site.url, "moves1")
                assert shown["server"].endswith(other.rpartition(":")[2])


async def test_revocation_at_one_server_closes_the_connection_at_the_other(site: Site, tmp_path: Path) -> None:
    context = site.enrol("stolen2").context()
    with second_server(site, tmp_path) as (other, _):
        async with Peer(other, context, Store()) as node:
            await node.greet()
            await asyncio.to_thread(site.run, "ca", "revoke", "stolen2")
            async with asyncio.timeout(20):
                assert await node.closed() == session.CLOSE_REVOKED


async def test_killed_server_leaves_its_nodes_away_and_they_come_back_elsewhere(site: Site, tmp_path: Path) -> None:
    context, store = site.enrol("orphan1").context(), Store()
    with second_server(site, tmp_path) as (other, process):
        async with Peer(other, context, store) as node:
            await node.greet()
            process.kill()
            await node.closed()
    async with asyncio.timeout(40):
        while (await asyncio.to_thread(session_of, site, site.url, "orphan1"))["away_since"] is None:
            await asyncio.sleep(0.2)
    async with Peer(site.url, context, store) as node:
        assert (await node.greet()).epoch == 2
