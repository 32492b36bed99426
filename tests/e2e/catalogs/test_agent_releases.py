"""Agents fetch and apply released catalogs on their own: real server, real daemons, real certificates."""

import json
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lab.agent_process import AgentProcess
from lab.server_process import PRECAST
from lab.site import Site

pytestmark = pytest.mark.timeout(240)

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "site"
DEADLINE_S = 60.0


class Fleet:
    """A site with code, and machines that enrol as its nodes."""

    def __init__(self, site: Site, directory: Path) -> None:
        self.site = site
        self.code = directory / "code"
        shutil.copytree(EXAMPLE, self.code)
        self.deploy()

    def deploy(self, greeting: str = "Welcome") -> None:
        data = self.code / "data" / "common.yaml"
        data.write_text((EXAMPLE / "data" / "common.yaml").read_text().replace("Welcome", greeting))
        self.site.run("env", "deploy", "production", "--from", str(self.code))

    def node(self, name: str) -> AgentProcess:
        """A machine that is enrolled; its daemon is not started yet."""
        self.site.enrol(name)
        root = self.site.directory / "nodes" / name
        (root / "etc").mkdir(parents=True, exist_ok=True)
        (root / "etc/os-release").write_text('ID=debian\nVERSION_ID="12"\n')
        return AgentProcess(root, self.site.url)

    def staged(self, node: str, other_than: str | None = None) -> str:
        end_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < end_s:
            words = [PRECAST, "catalog", "show", node, "--json"]
            done = subprocess.run(words, env=self.site.environment, capture_output=True, text=True, check=False)
            if done.returncode == 0 and (staged := json.loads(done.stdout)["staged"]) not in (None, other_than):
                return str(staged)
        raise AssertionError(f"nothing was staged for {node}: {done.stderr}")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    directory = tmp_path_factory.mktemp("fleet")
    with Site(directory / "site") as site:
        yield Fleet(site, directory)


def until_run(agent: AgentProcess, digest: str) -> dict[str, Any]:
    """The status once a run of this catalog has ended."""
    return agent.until(lambda status: status.get("run", {}).get("catalog") == digest)


def test_release_is_fetched_and_run_as_no_op_without_a_policy(fleet: Fleet) -> None:
    with fleet.node("look1") as agent:
        agent.until_settled()
        digest = fleet.staged("look1")
        fleet.site.run("release", "look1")
        status = until_run(agent, digest)
        assert status["run"]["is_noop"]
        assert (status["catalog"]["digest"], status["catalog"]["environment"]) == (digest, "production")
        assert status["catalog"]["release"] == 1
        assert not status["stale"]["is_stale"]
        assert not (agent.root / "etc/motd").exists()


def test_policy_lets_a_release_be_applied_within_seconds_and_an_older_one_is_refused(fleet: Fleet) -> None:
    with fleet.node("apply1") as agent:
        agent.until_settled()
        first = fleet.staged("apply1")
        fleet.site.run("node", "policy", "set", "apply1", "--enforce", "always", "--why", "a test")
        allowed = agent.until(lambda status: status.get("policy", {}).get("enforce") == "always")
        fleet.site.run("release", "apply1")
        status = until_run(agent, first)
        assert (status["run"]["is_noop"], status["run"]["changed"]) == (False, 1)
        assert (agent.root / "etc/motd").read_text().startswith("Welcome to apply1.")

        # The operator revokes the policy; then the server's database is restored to a state before that.
        with closing(sqlite3.connect(fleet.site.directory / "precast.db", timeout=30)) as database:
            row = "SELECT enforce, serial, seal FROM node_policy WHERE node = 'apply1'"
            ((enforce, serial, seal),) = database.execute(row).fetchall()
        assert (enforce, serial) == ("always", allowed["policy"]["serial"])
        fleet.site.run("node", "policy", "set", "apply1", "--enforce", "never")
        agent.until(lambda status: status["policy"]["enforce"] == "never")
        with closing(sqlite3.connect(fleet.site.directory / "precast.db", timeout=30)) as database, database:
            values = (enforce, serial, seal, "apply1")
            database.execute("UPDATE node_policy SET enforce = ?, serial = ?, seal = ? WHERE node = ?", values)
        replayed = subprocess.run(
            [PRECAST, "agent", "fetch", "--url", fleet.site.url, "--root", str(agent.root)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "the policy is refused: it is older than the cached one" in replayed.stderr
        status = agent.status()
        assert status["policy"]["enforce"] == "never"
        assert "older" in status["policy"]["trouble"]
        (agent.root / "etc/motd").unlink()
        words = ["--reason", "schedule", "--root", str(agent.root)]
        looked = subprocess.run([PRECAST, "agent", "apply", *words], capture_output=True, text=True, check=True)
        assert "this run is a no-op: its policy permits no run to enforce" in looked.stderr
        assert not (agent.root / "etc/motd").exists()
        # Root on the node can always enforce.
        subprocess.run([PRECAST, "agent", "apply", "--root", str(agent.root)], capture_output=True, check=True)
        assert (agent.root / "etc/motd").exists()


def test_settings_of_the_node_are_stronger_than_its_policy(fleet: Fleet) -> None:
    agent = fleet.node("noop1")
    (agent.root / "agent.toml").write_text("noop = true\n")
    agent.options += ["--config", str(agent.root / "agent.toml")]
    fleet.site.run("node", "policy", "set", "noop1", "--enforce", "always")
    with agent:
        agent.until(lambda status: status.get("policy", {}).get("enforce") == "always")
        digest = fleet.staged("noop1")
        fleet.site.run("release", "noop1")
        assert until_run(agent, digest)["run"]["is_noop"]
        with pytest.raises(subprocess.CalledProcessError) as failed:
            fleet.site.run("run", "noop1")
        (step,) = json.loads(failed.value.stdout)["steps"]
        assert (failed.value.returncode, step["state"], step["reason"]) == (4, "FAILED", "no-op-only")
        assert step["message"] == "the node allows no-op runs only: its own configuration says noop = true"
        assert not (agent.root / "etc/motd").exists()


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("set", "nobody", "--enforce", "always"), 66, "[NODE-001]"),
        (("set", "--enforce", "always"), 64, "[TARGET-005]"),
        (("set", "--all", "--enforce", "window"), 64, "no window is given"),
        (
            ("set", "--all", "--enforce", "window", "--window", "Sunday night"),
            64,
            "'Sunday night' is not a valid window",
        ),
        (("set", "--all", "--enforce", "sometimes"), 64, "unknown --enforce"),
        (("show", "nobody"), 66, "[NODE-001]"),
    ],
)
def test_mistake_with_a_policy_is_reported_in_one_line(
    fleet: Fleet, words: tuple[str, ...], code: int, told: str
) -> None:
    done = subprocess.run(
        [PRECAST, "node", "policy", *words], env=fleet.site.environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr


def test_release_while_the_node_was_away_is_fetched_when_it_reconnects(fleet: Fleet) -> None:
    with fleet.node("away1") as agent:
        agent.until_settled()
        digest = fleet.staged("away1")
        agent.kill()
        fleet.site.run("release", "away1")
        agent.start()
        until_run(agent, digest)


def test_unreachable_server_makes_the_cached_catalog_stale_with_time_and_reason(fleet: Fleet) -> None:
    with fleet.node("stale1") as agent:
        agent.until_settled()
        fleet.staged("stale1")
        fleet.site.run("release", "stale1")
        fresh = agent.until(lambda status: "run" in status)
        fleet.site.stop()
        try:
            agent.until(lambda status: not status["connected"])
            # The scheduled run is due, because the last run was long ago.
            agent.kill()
            agent.options += ["--apply-interval", "1s"]
            agent.start()
            stale = agent.until(
                lambda status: status["stale"]["is_stale"] and status["run"]["ended_at"] != fresh["run"]["ended_at"]
            )
        finally:
            fleet.site.start()
        assert stale["run"]["catalog"] == fresh["run"]["catalog"]
        assert "HTTP-002" in stale["stale"]["why"]
        assert stale["stale"]["since"] >= fresh["catalog"]["checked_at"]
        agent.until(lambda status: not status["stale"]["is_stale"])
