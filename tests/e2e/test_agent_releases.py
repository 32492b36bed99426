"""What a node does by itself when something is released to it: real server, real daemons, real certificates."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.agent_process import AgentProcess
from lab.server_process import PRECAST
from lab.site import Site

pytestmark = pytest.mark.timeout(240)

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "site"
DEADLINE_S = 60.0


class Fleet:
    """A site with code, and machines that become its nodes."""

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


def test_release_is_fetched_and_looked_at_by_itself_and_nothing_changes_without_a_policy(fleet: Fleet) -> None:
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


def test_release_while_the_node_was_away_is_learnt_when_it_comes_back(fleet: Fleet) -> None:
    with fleet.node("away1") as agent:
        agent.until_settled()
        digest = fleet.staged("away1")
        agent.kill()
        fleet.site.run("release", "away1")
        agent.start()
        until_run(agent, digest)


def test_server_away_makes_the_kept_catalog_stale_and_says_since_when_and_why(fleet: Fleet) -> None:
    with fleet.node("stale1") as agent:
        agent.until_settled()
        fleet.staged("stale1")
        fleet.site.run("release", "stale1")
        fresh = agent.until(lambda status: "run" in status)
        fleet.site.stop()
        try:
            agent.until(lambda status: not status["connected"])
            # The schedule's moment comes: who made the agent last is long ago.
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
