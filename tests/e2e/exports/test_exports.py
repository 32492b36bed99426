"""Exported resources from end to end: real server, real daemons, a monitor that learns of web nodes, and what operators see of it."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.agent_process import AgentProcess
from lab.server_process import PRECAST
from lab.site import Site
from precast.base import digests, https

pytestmark = pytest.mark.timeout(240)

DEADLINE_S = 90.0
CODE = """
node /^web/ {
  @@file { "/etc/monitored/${trusted['certname']}": content => "watch ${trusted['certname']}\\n", tag => 'monitoring' }
}
node /^mon/ {
  file { '/etc/monitored': ensure => directory, recurse => true, purge => true }
  File <<| tag == 'monitoring' |>>
}
node /^loop/ {
  if $facts['seed'] { @@ping { 'p': n => 0 } }
  Pong <<| |>>
}
node /^other/ { Ping <<| |>> }
define ping(Integer $n) { @@pong { 'p': n => $n + 1 } }
define pong(Integer $n) { unless $facts['seed'] { @@ping { 'p': n => $n + 1 } } }
"""


class Fleet:
    """A site, and machines that enrol as its nodes; some of them have an agent, of others only facts are sent."""

    def __init__(self, site: Site, directory: Path) -> None:
        self.site, self.code = site, directory / "code"
        (self.code / "manifests").mkdir(parents=True)
        (self.code / "manifests/site.pp").write_text(CODE)
        site.run("env", "deploy", "production", "--from", str(self.code))

    def agent(self, name: str) -> AgentProcess:
        self.site.enrol(name)
        root = self.site.directory / "nodes" / name
        (root / "etc").mkdir(parents=True, exist_ok=True)
        (root / "etc/os-release").write_text('ID=debian\nVERSION_ID="12"\n')
        return AgentProcess(root, self.site.url)

    def send_facts(self, name: str, **facts: Any) -> None:
        """Enrol a node that has no agent, or send its facts again."""
        if name not in self.identities:
            self.identities[name] = self.site.enrol(name)
        body = {"digest": digests.of_value(facts), "volatile": {}, "stable": facts}
        sent = https.call(
            self.site.url, self.identities[name].context(), "POST", "/v1/facts", json.dumps(body).encode()
        )
        assert sent.status == 200, sent

    identities: dict[str, Any] = {}  # noqa: RUF012 - of the one fleet of this module

    def command(self, *words: str) -> str:
        done = subprocess.run([PRECAST, *words], env=self.site.environment, capture_output=True, text=True, check=False)
        assert not done.stderr, done
        return done.stdout

    def until(self, text: str, *words: str) -> str:
        """Run a command until its output contains a text."""
        end_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < end_s:
            done = subprocess.run(
                [PRECAST, *words], env=self.site.environment, capture_output=True, text=True, check=False
            )
            if text in done.stdout:
                return done.stdout
        raise AssertionError(f"{words} did not print {text!r}: {done}")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    directory = tmp_path_factory.mktemp("exports")
    with Site(directory / "site") as site:
        yield Fleet(site, directory)


def until_files(agent: AgentProcess, names: set[str]) -> None:
    """Wait until the monitor has exactly these files."""
    end_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < end_s:
        if {path.name for path in (agent.root / "etc/monitored").glob("*")} == names:
            return
        time.sleep(0.1)
    raise AssertionError(f"{sorted((agent.root / 'etc/monitored').glob('*'))}\n{agent.log}")


def test_monitor_learns_of_web_nodes_and_forgets_them(fleet: Fleet) -> None:
    site = fleet.site
    site.run("env", "policy", "production", "automatic")
    with fleet.agent("mon1") as monitor:
        monitor.until_settled()
        site.run("node", "policy", "set", "mon1", "--enforce", "always", "--why", "a test")
        until_files(monitor, set())
        with fleet.agent("web1") as web1:
            web1.until_settled()
            until_files(monitor, {"web1"})
            assert (monitor.root / "etc/monitored/web1").read_text() == "watch web1\n"
            fleet.send_facts("web2", x=1)
            until_files(monitor, {"web1", "web2"})
        site.run("node", "deactivate", "web1", "--why", "a test")
        until_files(monitor, {"web2"})
    site.run("env", "policy", "production", "manual")


def test_operator_sees_what_is_exported_and_what_a_release_leads_to(fleet: Fleet) -> None:
    site = fleet.site
    fleet.send_facts("mon5", x=1)
    fleet.send_facts("web5", x=1)
    fleet.until("staged", "catalog", "show", "web5")
    fleet.until("staged", "catalog", "show", "mon5")
    site.run("release", "mon5")
    preview = fleet.until("File will be decided again", "release", "web5", "--preview")
    assert "mon5" in preview
    assert "web5" not in fleet.command("exports", "list", "File")
    site.run("release", "web5")
    assert "File[/etc/monitored/web5]  web5  production" in fleet.command("exports", "list", "file")
    shown = fleet.command("exports", "show", "File[/etc/monitored/web5]")
    assert "File[/etc/monitored/web5], released by web5 in production" in shown
    assert "content => watch web5" in shown
    assert "mon5" in shown
    (row,) = [row for row in site.run("exports", "list") if row["type"] == "File"]
    assert row["environment"] == "production"
    assert row["collectors"] >= 1
    fleet.until("File[/etc/monitored/web5] added", "catalog", "diff", "mon5")
    assert "exported" in fleet.command("catalog", "why", "mon5")
    assert "web5" in fleet.command("query", "resources", "exported = true and title = '/etc/monitored/web5'")


def test_loop_is_named_and_ends(fleet: Fleet) -> None:
    site = fleet.site
    fleet.send_facts("loop1", seed=True)
    fleet.send_facts("other1", x=1)
    fleet.until("staged", "catalog", "show", "loop1")
    fleet.until("staged", "catalog", "show", "other1")
    site.run("env", "policy", "production", "automatic")
    site.run("release", "loop1", "other1")
    fleet.until("Pong[p]", "exports", "list", "Pong")
    fleet.send_facts("loop1", seed=False)
    errors = fleet.until("part of a loop", "catalog", "errors")
    assert "Ping[p] of loop1" in errors
    assert "Pong[p] of other1" in errors
    (problem,) = [problem for problem in site.status()["problems"] if "part of a loop" in problem["text"]]
    assert problem["level"] == "warning"
    site.run("env", "policy", "production", "manual")


def test_setting_of_an_environment_is_shown_and_set_by_admins_only(fleet: Fleet) -> None:
    assert fleet.site.run("env", "exports", "production") == {"exports": "released"}
    fleet.site.run("env", "exports", "production", "staged")
    assert "staged catalogs" in fleet.command("env", "exports", "production")
    fleet.site.run("env", "exports", "production", "released")
    operator = fleet.site.run("token", "person", "otto", "--role", "operator")["token"]
    environment = {**fleet.site.environment, "PRECAST_TOKEN": operator}
    words = [PRECAST, "env", "exports", "production", "everywhere"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "admin" in done.stderr
