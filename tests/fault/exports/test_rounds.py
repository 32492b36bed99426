"""Servers killed between a release and the decisions that follow it: no change of exports is lost."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.export_site import CODE, ExportSite
from lab.postgres import PostgresServer
from lab.site import Site
from precast.base import digests, https
from precast.base.clock import Clock, ManualClock
from precast.store.engine.connect import connect
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation
from precast.store.schema.schema import Schema

DEADLINE_S = 90.0


@asynccontextmanager
async def serving(location: Location, clock: Clock | None = None) -> AsyncIterator[ExportSite]:
    database = await connect(location, may_create=True, clock=clock)
    await Schema(database).expand()
    site = ExportSite(database)
    yield site
    await site.close()
    await database.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    if request.param == "sqlite":
        return SqliteLocation(tmp_path / "precast.db")
    postgres: PostgresServer = request.getfixturevalue("postgres")
    return PostgresLocation(postgres.url(postgres.create_database()))


@pytest.mark.parametrize("has_claimed", [False, True])
async def test_server_lost_between_release_and_announcement_loses_no_round(
    location: Location, has_claimed: bool
) -> None:
    async with serving(location) as site:
        await site.deploy({"manifests/site.pp": CODE})
        await site.join("mon1", "monitor")
        await site.join("web1", "web")
        await site.settle()
        await site.release("web1")
        if has_claimed:
            assert len(await site.work.claim("collect", "lost", limit=9, lease_s=30)) == 1
    # By the clock of the next server, the lease of the lost one has expired.
    async with serving(location, ManualClock()) as heir:
        assert await heir.settle() == 1
        assert await heir.collected("mon1") == {"web web1": "at 10.0.0.1"}


async def test_server_lost_in_the_middle_of_a_decision_decides_with_the_newest_exports(location: Location) -> None:
    async with serving(location) as site:
        await site.deploy({"manifests/site.pp": CODE})
        await site.join("mon1", "monitor")
        await site.join("web1", "web")
        await site.settle()
        await site.release("web1")
        await site.rounds.announce("r")
        assert len(await site.work.claim("decide", "lost", limit=9, lease_s=30)) == 1
        await site.join("web2", "web")
        await site.settle()
        await site.release("web2")
    async with serving(location, ManualClock()) as heir:
        await heir.settle()
        assert len(await heir.collected("mon1")) == 2


def test_killed_server_tells_the_collector_when_it_is_back(tmp_path: Path) -> None:
    code = tmp_path / "code"
    (code / "manifests").mkdir(parents=True)
    (code / "manifests/site.pp").write_text(CODE)
    with Site(tmp_path / "site") as site:
        site.run("env", "deploy", "production", "--from", str(code))
        for name, role in (("mon1", "monitor"), *((f"web{number}", "web") for number in range(3))):
            _send_facts(site, name, {"role": role, "networking": {"hostname": name, "ip": "10.0.0.1"}})
        site.run("release", "--all", "--preview", "--wait", "60s")
        for number in range(3):
            site.run("release", f"web{number}")
            site.kill()  # the announcement waits for a quarter of a second
            site.start()
        end_s = time.monotonic() + DEADLINE_S
        changes: list[Any] = []
        while len(changes) < 3 and time.monotonic() < end_s:
            site.run("release", "mon1", "--preview", "--wait", "60s")
            difference = site.run("catalog", "diff", "mon1")
            changes = [change for change in difference if change["ref"].startswith("Notify[")]
        assert {change["ref"] for change in changes} == {f"Notify[web web{number}]" for number in range(3)}


def _send_facts(site: Site, name: str, facts: dict[str, Any]) -> None:
    body = {"digest": digests.of_value(facts), "volatile": {}, "stable": facts}
    context = site.enrol(name).context()
    sent = https.call(site.url, context, "POST", "/v1/facts", json.dumps(body).encode())
    assert sent.status == 200, sent
