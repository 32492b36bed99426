"""Entry points as people and nodes meet them: on this machine, on a real server, and fetched by a node whose job has pinned one."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lab.server_process import PRECAST
from lab.site import Site
from precast.agent.catalog.entry_catalog import CONTENT, fetch_entry_catalog, read_entry_catalog
from precast.agent.identity.enrolment import Identity
from precast.agent.network.http_client import DirectHttp
from precast.base import digests, https
from precast.base.errors import NotFoundError
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.entry_holds import EntryPin
from precast.store.engine.connect import connect
from precast.store.engine.location import SqliteLocation
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import AttemptKey, Attempts, Ending, NewAttempt
from precast.store.jobs.jobs import Jobs, NewJobRow
from precast.wire.jobs import states

ENTRY = "modules/motd/examples/issue.pp"
FILES = {
    "manifests/site.pp": "notify { 'site': }\n",
    "modules/motd/files/issue": "only for those who may\n",
    ENTRY: "file { '/etc/issue': source => 'puppet:///modules/motd/issue' }\n"
    "file { '/etc/motd': content => \"on ${facts['networking']['hostname']}\\n\" }\n",
    "plans/broken.pp": "include nowhere\n",
}


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("code")
    for path, text in FILES.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)
    return directory


class Fleet:
    """A site with deployed code, and two nodes that have sent their facts."""

    def __init__(self, site: Site, code: Path) -> None:
        self.site = site
        site.run("env", "deploy", "production", "--from", str(code))
        self.nodes = {name: self._add(name) for name in ("web1", "web2")}

    def _add(self, name: str) -> Identity:
        identity = self.site.enrol(name)
        stable = {"networking": {"hostname": name}}
        body = json.dumps({"digest": digests.of_value(stable), "volatile": {}, "stable": stable}).encode()
        assert https.call(self.site.url, identity.context(), "POST", "/v1/facts", body).status == 200
        return identity

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([PRECAST, *words], env=self.site.environment, capture_output=True, text=True, check=False)

    def fetch(self, node: str, version: str) -> bool:
        client = DirectHttp(self.nodes[node].context())
        root = self.site.directory / "nodes" / node
        return fetch_entry_catalog(root, [self.site.url], client, ENTRY, version, now=datetime.now(UTC))

    def write(self, transaction: Any) -> Any:
        """Run a transaction on the server's database, as its driver of jobs does."""

        async def run() -> Any:
            database = await connect(SqliteLocation(self.site.directory / "precast.db"))
            try:
                return await database.write(lambda: transaction(database))
            finally:
                await database.close()

        return asyncio.run(run())


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory, code: Path) -> Iterator[Fleet]:
    with Site(tmp_path_factory.mktemp("entries") / "site") as site:
        yield Fleet(site, code)


def compile_here(code: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [PRECAST, "compile", "--environment", str(code), "--node", "web1.example.com", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_compile_on_this_machine_takes_an_entry_point(code: Path, tmp_path: Path) -> None:
    facts = tmp_path / "facts.json"
    facts.write_text('{"networking": {"hostname": "web1"}}')
    done = compile_here(code, "--facts", str(facts), "--entry", ENTRY)
    assert done.returncode == 0, done.stderr
    assert f"{ENTRY}:1" in done.stdout
    assert "Notify[site]" not in done.stdout
    reads = json.loads(compile_here(code, "--facts", str(facts), "--entry", ENTRY, "--trace", "--json").stdout)
    assert reads[0] == {"question": {"ask": "entry"}, "answer": ENTRY}


@pytest.mark.parametrize(
    ("entry", "code_of_error"), [("../x.pp", "LANG-767"), ("/etc/passwd", "LANG-767"), ("plans/none.pp", "LANG-768")]
)
def test_wrong_entry_point_is_one_clear_error(code: Path, entry: str, code_of_error: str) -> None:
    done = compile_here(code, "--entry", entry)
    assert done.returncode == 64
    assert code_of_error in done.stderr
    assert entry in done.stderr
    assert "Traceback" not in done.stderr


def test_server_compiles_an_entry_point_on_request_and_shows_it(fleet: Fleet) -> None:
    missing = fleet.command("catalog", "show", "web2", "--entry", ENTRY)
    assert missing.returncode == 66
    assert "nothing was decided for its entry point" in missing.stderr
    done = fleet.command("catalog", "compile", "web2", "--entry", ENTRY)
    assert done.returncode == 0, done.stderr
    assert "is new, staged" in done.stdout
    shown = fleet.command("catalog", "show", "web2", "--entry", ENTRY)
    assert ENTRY in shown.stdout
    assert "released" not in shown.stdout
    assert json.loads(fleet.command("catalog", "show", "web2", "--json").stdout)["entry"] == ""
    why = fleet.command("catalog", "why", "web2", "--entry", ENTRY).stdout
    assert "entry" in why
    assert "networking.hostname" in why
    assert "LANG-767" in fleet.command("catalog", "compile", "web2", "--entry", "../x.pp").stderr


def test_error_of_an_entry_point_is_listed_with_its_path(fleet: Fleet) -> None:
    done = fleet.command("catalog", "compile", "web1", "--entry", "plans/broken.pp")
    assert done.returncode == 1
    assert "nowhere" in done.stdout
    errors = fleet.command("catalog", "errors")
    assert "1 node: web1 (plans/broken.pp)" in errors.stdout
    assert [error["entry"] for error in json.loads(fleet.command("catalog", "errors", "--json").stdout)["errors"]] == [
        "plans/broken.pp"
    ]


def test_node_fetches_what_its_job_has_pinned_and_nothing_else(fleet: Fleet) -> None:
    assert fleet.command("catalog", "compile", "web1", "--entry", ENTRY).returncode == 0
    version = json.loads(fleet.command("catalog", "show", "web1", "--entry", ENTRY, "--json").stdout)["staged"]
    with pytest.raises(NotFoundError) as raised:
        fleet.fetch("web1", version)
    assert raised.value.code == "RELEASE-006"
    key = AttemptKey("01890000-0000-7000-8000-000000000001", 1, "web1", 1)

    def begin(database: Any) -> Transaction[None]:
        now, attempts = database.clock.now(), Attempts(database)
        yield from Jobs(database).create(NewJobRow(key.job, "apply", b"{}", None, None, "person:ann"), 1)
        yield from attempts.add(key.job, 1, 600.0, [NewAttempt(1, "web1", 0, 0)])
        yield from attempts.give_turn(key, now + timedelta(hours=1))
        yield from attempts.pick_up(key)
        assert (yield from Catalogs(database).holds.hold(key.job, [EntryPin("web1", ENTRY, version)], now)) == []

    def end(database: Any) -> Transaction[None]:
        yield from Attempts(database).end(key, states.PICKED_UP, Ending(states.COMPLETED))

    fleet.write(begin)
    root = fleet.site.directory / "nodes" / "web1"
    assert fleet.fetch("web1", version)
    assert b"on web1" in read_entry_catalog(root, ENTRY, version)[0]
    assert [path.read_text() for path in (root / CONTENT).iterdir()] == ["only for those who may\n"]
    with pytest.raises(NotFoundError):
        fleet.fetch("web2", version)
    fleet.write(end)
    path = f"/v1/entries/{version}?entry={ENTRY}"
    assert https.call(fleet.site.url, fleet.nodes["web1"].context(), "GET", path).status == 404
    # What is cached needs no server.
    assert not fleet.fetch("web1", version)
