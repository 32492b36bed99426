"""`precast secrets` and `precast server secrets-key` with real servers: references, never values; a rotation; a lost key."""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.agent_runs import enrolled
from lab.site import Site
from tests.e2e.precast_command import assert_fine, assert_refused
from tests.e2e.precast_server import Server, precast

pytestmark = pytest.mark.timeout(240)

SECRET = "kz8-Sekret-Wert-1"
DEADLINE_S = 120.0


def until(is_met: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while not is_met():
        assert time.monotonic() < deadline_s
        time.sleep(0.2)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    code = tmp_path / "code" / "manifests"
    code.mkdir(parents=True)
    (code / "site.pp").write_text(f"file {{ '/etc/token': content => Sensitive('{SECRET}') }}\n")
    with Site(tmp_path / "data", words=["--workers", "2"]) as running:
        with enrolled(running, "web1") as agent:
            agent.until_connected()
            running.run("env", "deploy", "production", "--from", str(tmp_path / "code"))
            running.run("release", "web1", "--wait")
        yield running


def test_commands_show_references_and_a_rotation_needs_no_restart(site: Site) -> None:
    (row,) = site.run("secrets", "list", "production")
    shown = site.run("secrets", "show", "production", row["ref"][:8])
    assert (shown["ref"], shown["parameters"]) == (row["ref"], ["File[/etc/token] content"])
    assert {(user["node"], user["state"]) for user in shown["nodes"]} == {("web1", "staged"), ("web1", "served")}
    before = site.run("secrets", "status")
    assert (before["state"], len(before["processes"]), before["secrets"]) == ("current", 2, {"production": 1})
    pid = site.pid
    words = ("server", "secrets-key", "{}", "--data", str(site.directory))
    rotated = site.run(*(word.format("rotate") for word in words))
    assert rotated["before"] == [before["keys"][0]["id"]]
    until(lambda: bool(site.run("secrets", "status")["state"] == "rotated"))
    (new, *_) = [key for key in site.run("secrets", "status")["keys"] if key["wraps"]]
    assert (new["id"], new["wraps"], new["processes"]) == (rotated["key"], 1, 2)
    pruned = site.run(*(word.format("prune") for word in words))
    assert (pruned["kept"], pruned["removed"]) == ([rotated["key"]], rotated["before"])
    until(lambda: bool(site.run("secrets", "status")["state"] == "current"))
    assert site.pid == pid
    # The catalog is the same: no reference has changed.
    assert site.run("secrets", "list", "production")[0]["ref"] == row["ref"]
    actions = [entry["action"] for entry in site.run("audit")]
    assert "secrets.rewrap" in actions
    assert SECRET not in site.log + json.dumps(site.run("audit"))


def test_restored_site_without_its_secrets_key_says_how_to_go_on(site: Site, tmp_path: Path) -> None:
    key = site.run("db", "keygen", str(tmp_path / "key"))["recipient"]
    file = str(tmp_path / "backup")
    site.run("db", "backup", file, "--recipient", key, "--data", str(site.directory))
    site.close()
    (before,) = [path.read_bytes() for path in site.directory.glob("secrets.key")]
    shutil.rmtree(site.directory)
    site.run("db", "restore", file, "--identity", str(tmp_path / "key"), "--data", str(site.directory))
    refused = precast("server", "--data", site.directory, "--listen", "127.0.0.1:0")
    assert_refused(refused, 75, "SECRET-001", "secrets.key")
    assert "precast server secrets-key discard" in refused.err
    # A key of another site is refused too.
    precast("server", "init", "--data", tmp_path / "other")
    shutil.copy(tmp_path / "other" / "secrets.key", site.directory)
    assert_refused(precast("server", "--data", site.directory, "--listen", "127.0.0.1:0"), 73, "SECRET-003")
    discard = ("server", "secrets-key", "discard", "--data", site.directory)
    assert precast(*discard).code == 64
    ran = precast(*discard, "--all-secrets", "--json")
    assert_fine(ran)
    assert json.loads(ran.out) == {"discarded": {"production": 1}}
    site.start()
    until(lambda: len(site.run("secrets", "list", "production")) == 1)
    assert before not in (site.directory / "secrets.key").read_bytes()


def test_key_file_is_made_by_init_and_a_bad_one_prevents_the_start(tmp_path: Path) -> None:
    server = Server.init(tmp_path / "data")
    key = server.data / "secrets.key"
    assert key.stat().st_mode & 0o777 == 0o600
    key.chmod(0o640)
    start = ("server", "--data", server.data, "--listen", "127.0.0.1:0")
    assert_refused(precast(*start), 75, "SECRET-002", "0600")
    key.chmod(0o600)
    key.write_text("PRECAST-SECRETS-KEY-1NONSENSE\n")
    assert_refused(precast(*start), 75, "SECRET-002", "typing error")
    assert_refused(precast("server", "secrets-key", "rotate", "--data", server.data), 75, "SECRET-002")
