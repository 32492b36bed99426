"""A flood of strangers from many addresses, while the server serves nodes and people as if it were alone."""

import asyncio
import ssl
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from lab.flood_process import flooded, read_refused
from lab.server_process import PRECAST
from lab.session import Peer, Store
from lab.site import Site
from precast.base import canonical, digests, https
from precast.wire import sessions as session

pytestmark = pytest.mark.timeout(300)

# One of the addresses opens ten times as many connections as the others.
SOURCES = [*(f"127.0.{number}.2" for number in range(5)), *["127.0.0.3"] * 10]
RECORDS = 300
DEADLINE_S = 60.0
# How long a monitoring system waits for a health check.
HEALTH_S = 10.0
# Every kind of refusal that a flood of this kind must meet. The slowest comes after 15 seconds.
REFUSALS = {"slow handshake", "failed handshake", "no request", "crowded out"}


def facts(number: int) -> dict[str, object]:
    stable = {"number": number}
    return {"digest": digests.of_bytes(canonical.encode(stable)), "volatile": {}, "stable": stable}


async def send_facts(peer: Peer, count: int) -> None:
    """Send fact sets one after the other; each must be acknowledged before the next."""
    for number in range(count):
        async with asyncio.timeout(DEADLINE_S):
            await peer.acknowledged(await peer.send(session.FACTS, facts(number)))


async def be_well_behaved(site: Site, early: ssl.SSLContext, late: ssl.SSLContext) -> None:
    """One node is connected before the flood, another connects during it, again and again."""
    async with Peer(site.url, early, Store()) as connected:
        await connected.greet()
        with flooded(site, SOURCES) as flood:
            await asyncio.gather(send_facts(connected, RECORDS), _reconnect(site, late), _check_health(site))
            await asyncio.to_thread(_act_as_a_person, site)
            refused = await _wait_for_refusals(site)
        print(f"refused connections: {refused}\noutcomes: {flood.outcomes}")
    assert refused.keys() >= REFUSALS
    for kind in ("public", "guess", "enrol"):
        assert flood.outcomes[kind].get("429", 0) > 0, flood.outcomes
    statuses = Counter(status for kind in ("public", "guess", "enrol") for status in flood.outcomes[kind])
    assert not [status for status in statuses if status.startswith("5")], flood.outcomes
    for kind in ("silent", "half", "garbage", "idle"):
        assert flood.outcomes[kind].get("closed", 0) + flood.outcomes[kind].get("refused", 0) > 0, flood.outcomes


async def _reconnect(site: Site, context: ssl.SSLContext) -> None:
    store = Store()
    for _ in range(10):
        async with Peer(site.url, context, store) as peer:
            async with asyncio.timeout(DEADLINE_S):
                await peer.greet()
            await send_facts(peer, 5)


async def _check_health(site: Site) -> None:
    context = https.trust_authority(Path(site.environment["PRECAST_CA"]).read_text())
    for _ in range(20):
        for path in ("/health/live", "/health/ready"):
            answer = await asyncio.to_thread(https.call, site.url, context, "GET", path, timeout_s=HEALTH_S)
            assert answer.status == 200, path


def _act_as_a_person(site: Site) -> None:
    """Enrol a node and list the nodes with the command line, which opens a new connection for every request."""
    site.enrol("web3")
    done = subprocess.run(
        [PRECAST, "node", "list", "--json"], env=site.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


async def _wait_for_refusals(site: Site) -> dict[str, int]:
    until_s = time.monotonic() + DEADLINE_S
    while not (refused := await asyncio.to_thread(read_refused, site)).keys() >= REFUSALS:
        assert time.monotonic() < until_s, refused
        await asyncio.sleep(1)
    return refused


def test_flood_of_strangers_harms_neither_nodes_nor_people(tmp_path: Path) -> None:
    with Site(tmp_path / "site") as site:
        early, late = site.enrol("web1").context(), site.enrol("web2").context()
        asyncio.run(be_well_behaved(site, early, late))
        assert [site.session_of(name)["lost"] for name in ("web1", "web2")] == [0, 0]
