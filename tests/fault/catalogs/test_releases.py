"""kill -9 of the server and of the client during a release and a rollback of many nodes.

Every node is served the old or the new catalog, `--continue` completes what was interrupted, and no node is taken twice.
"""

import asyncio
import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.compile_services import CompileServices
from lab.postgres import PostgresServer
from lab.server_process import PRECAST
from lab.site import Site
from precast.agent.catalog import release_check
from precast.agent.identity.enrolment import Identity
from precast.base import https
from precast.services.catalogs.staged_selection import read_served
from precast.store.engine.connect import connect
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation
from precast.wire.catalogs.release_pointer import HEADER

DEADLINE_S = 120.0
# More than two pages of nodes; `a` is in the first page and `z` in the last.
COUNT = 1_500
ENROLLED = ("a", "z")
FACTS = {"os": {"family": "Debian"}}
# A kill may come too late, when the release is complete. The attempts end when enough of them were interrupted.
ATTEMPTS, INTERRUPTED = 8, 2


class Fleet:
    """A site with many nodes, most of which are only rows of the database."""

    def __init__(self, site: Site, location: Location, code: Path) -> None:
        self.site, self.location, self.code = site, location, code
        self.names = sorted([*ENROLLED, *(f"n{number:04d}" for number in range(COUNT))])
        self.identities: dict[str, Identity] = {name: site.enrol(name) for name in ENROLLED}
        self.sequences = dict.fromkeys(ENROLLED, 0)
        site.stop()
        asyncio.run(self._introduce())
        site.start()

    async def _introduce(self) -> None:
        database = await connect(self.location)
        services = CompileServices(database)
        names = iter(self.names)

        async def introduce_some() -> None:
            for name in names:
                if name not in ENROLLED:
                    await services.introduce(name)
                await services.submit(name, FACTS, {})

        await asyncio.gather(*(introduce_some() for _ in range(64)))
        await services.close()
        await database.close()

    def served(self) -> dict[str, str | None]:
        """The digest of the catalog that each node is served."""

        async def read() -> dict[str, str | None]:
            database = await connect(self.location)
            releases = await database.read(read_served, self.names)
            await database.close()
            return {name: releases[name].digest if name in releases else None for name in self.names}

        return asyncio.run(read())

    def stage(self, word: str) -> None:
        """Deploy code and wait until it is staged for all nodes."""
        (self.code / "manifests").mkdir(parents=True, exist_ok=True)
        (self.code / "manifests/site.pp").write_text(f"notify {{ '{word}': }}\n")
        self.site.run("env", "deploy", "production", "--from", str(self.code))
        preview = self.run("release", "--all", "--preview", "--json", "--wait", f"{DEADLINE_S:g}s")
        assert preview.returncode == 0, preview.stderr

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [PRECAST, *words],
            env=self.site.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE_S,
        )

    def interrupt(self, victim: str, *words: str) -> tuple[int, str]:
        """Kill the server or the client after the first page. Returns the exit code of the client, and what it printed."""
        with subprocess.Popen(
            [PRECAST, *words, "--json"],
            env=self.site.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as client:
            assert client.stderr is not None
            printed = client.stderr.readline()
            assert f"500 of {len(self.names):,}" in printed, printed
            if victim == "server":
                self.site.kill()
            else:
                client.kill()
            printed += client.stderr.read()
            code = client.wait(DEADLINE_S)
        if victim == "server":
            self.site.start()
        return code, printed

    def newest(self) -> Any:
        """The newest entry of the log."""
        return self.site.run("release", "list", "--limit", "1")[0]

    def snapshot(self) -> tuple[Any, dict[str, str | None]]:
        """The newest entry of the log and what is served, of one moment: a server still works on the last request of a killed client."""
        entry = None
        while entry != (now := self.newest()):
            entry, served = now, self.served()
        return entry, served

    def check_pointers(self, served: dict[str, str | None]) -> None:
        """The signed pointers name what is served, and their sequences only grow."""
        for name, identity in self.identities.items():
            answer = https.call(self.site.url, identity.context(), "GET", "/v1/catalog")
            assert answer.status == 200
            root = self.site.directory / "nodes" / name
            pointer = release_check.verify(root, release_check.decode_header(answer.headers[HEADER]))
            release_check.check_digest(pointer, answer.body)
            assert pointer.digest == served[name]
            assert pointer.sequence >= self.sequences[name]
            self.sequences[name] = pointer.sequence


@pytest.fixture(params=["sqlite", "postgresql"])
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fleet]:
    url = ""
    if request.param == "postgresql":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        url = postgres.url(postgres.create_database())
    with Site(tmp_path / "site", url or None) as site:
        location = PostgresLocation(url) if url else SqliteLocation(tmp_path / "site" / "precast.db")
        yield Fleet(site, location, tmp_path / "code")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("victim", ["server", "client"])
def test_interrupted_release_and_rollback_are_completed_and_take_no_node_twice(fleet: Fleet, victim: str) -> None:
    fleet.stage("first")
    first = fleet.run("release", "--all")
    assert first.returncode == 0, first.stderr
    interrupted: Counter[str] = Counter()
    for number in range(ATTEMPTS):
        old = fleet.served()
        fleet.stage(f"attempt {number}")
        _interrupt(fleet, victim, "release", interrupted, old)
        new = fleet.served()
        assert all(new[name] not in (None, old[name]) for name in fleet.names), "some nodes were not released"
        assert len(set(new.values())) == 1
        fleet.check_pointers(new)
        _interrupt(fleet, victim, "rollback", interrupted, new)
        assert fleet.served() == old, "the rollback took a node back twice, or not at all"
        fleet.check_pointers(old)
        again = fleet.run("release", "--all", "--json")
        assert len(json.loads(again.stdout)["released"]) == len(fleet.names)
        if min(interrupted["release"], interrupted["rollback"]) >= INTERRUPTED:
            break
    print(f"\n{victim} killed: {dict(interrupted)} interrupted in {number + 1} attempts")
    assert min(interrupted["release"], interrupted["rollback"]) > 0, "every kill came too late, so it proves nothing"


def _interrupt(fleet: Fleet, victim: str, kind: str, interrupted: Counter[str], before: dict[str, str | None]) -> None:
    """Interrupt a release or rollback of all nodes, and complete it."""
    code, printed = fleet.interrupt(victim, kind, "--all", "--why", "all of them")
    entry, halfway = fleet.snapshot()
    changed = sum(halfway[name] != before[name] for name in fleet.names)
    assert (entry["kind"], entry["nodes"]) == (kind, changed), "the log counts other nodes than those that were changed"
    assert len({digest for name, digest in halfway.items() if digest != before[name]}) == 1
    fleet.check_pointers(halfway)
    if entry["finished_at"] is None:
        interrupted[kind] += 1
        if victim == "server":
            assert code == 75, printed
            assert f"`precast {kind} --continue {entry['release']}` goes on" in printed
        done = fleet.run(kind, "--continue", str(entry["release"]), "--json")
        assert done.returncode == 0, done.stderr
        assert sorted(json.loads(done.stdout)["released"]) == fleet.names
    finished = fleet.newest()
    assert (finished["release"], finished["nodes"]) == (entry["release"], len(fleet.names)), (
        "it is one entry of the log"
    )
    assert finished["finished_at"] is not None
    refused = fleet.run(kind, "--continue", str(entry["release"]))
    assert (refused.returncode, "it is finished" in refused.stderr) == (73, True), refused
