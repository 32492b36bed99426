"""A server whose clock is wrong for a while deletes nothing, says that its clock is wrong, and goes on once the clock is right again."""

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from lab.session import Peer, Store
from lab.site import Site
from lab.wrong_clock import WrongClock
from precast.wire.reports import records as reports
from tests.contract.reports.report_site import began, changed, ended

pytestmark = [
    pytest.mark.needs("faketime"),
    pytest.mark.timeout(300),
]
DEADLINE_S = 90.0
FORTY_DAYS = timedelta(days=40)


@pytest.fixture
def clock() -> Iterator[WrongClock]:
    with closing(WrongClock()) as clock:
        yield clock


@pytest.fixture
def site(tmp_path: Path, clock: WrongClock) -> Iterator[Site]:
    site = Site(tmp_path / "data")
    site.run_by(clock.prefix)
    with site:
        yield site


def count_rows(site: Site, table: str) -> int:
    (path,) = site.directory.glob("*.db")
    with closing(sqlite3.connect(path)) as db:
        ((number,),) = db.execute(f"SELECT count(*) FROM {table}").fetchall()
    return int(number)


def wait_for_log(site: Site, text: str) -> None:
    until_s = time.monotonic() + DEADLINE_S
    while text not in site.log:
        assert time.monotonic() < until_s, site.log
        time.sleep(0.1)


async def send_report(site: Site, node: str, number: int) -> None:
    async with Peer(site.url, site.enrol(node).context(), Store()) as peer:
        await peer.greet()
        start = began(number)
        await peer.acknowledged(await peer.send(reports.BEGAN, start))
        await peer.acknowledged(await peer.send(reports.ENDED, ended(start, changed("/etc/motd"), events=1)))


async def test_server_restarted_forty_days_ahead_deletes_no_report(site: Site, clock: WrongClock) -> None:
    await send_report(site, "web1", 1)
    assert count_rows(site, "report") == 1
    site.stop()
    clock.set(FORTY_DAYS)
    site.start()
    await asyncio.sleep(8)  # retention runs at the start
    assert count_rows(site, "report") == 1
    wait_for_log(site, "the clock of this server is 40 days ahead of what it should show")


def says_clock(site: Site) -> bool:
    """Whether the status names the clock as a problem."""
    return any("the clock of" in problem["text"] for problem in site.status()["problems"])


@pytest.mark.parametrize("offset", [FORTY_DAYS, -FORTY_DAYS], ids=["ahead", "behind"])
def test_site_created_by_a_wrong_clock_goes_on_by_one_command_when_the_clock_is_right(
    tmp_path: Path, clock: WrongClock, monkeypatch: pytest.MonkeyPatch, offset: timedelta
) -> None:
    """Nothing shows that the clock is wrong, so the server trusts it, and its authority is created by it."""
    clock.set(offset)
    site = Site(tmp_path / "data")
    site.run_by(clock.prefix)
    with monkeypatch.context() as patched:
        for name, value in clock.environment.items():
            patched.setenv(name, value)
        with site:
            site.run("db", "clock", "--data", str(site.directory))
    clock.correct()
    site.start()
    with closing(site):
        site.enrol("web1")
        assert says_clock(site)
        assert site.run("db", "clock", "--confirm", "--data", str(site.directory))["trusted"]
        until_s = time.monotonic() + DEADLINE_S
        while says_clock(site):
            assert time.monotonic() < until_s, site.log
