"""A node without a connection obeys the maintenance windows that are bound to it: real server, real agent, real signatures."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.agent_process import AgentProcess
from lab.server_process import PRECAST
from lab.site import Site

pytestmark = pytest.mark.timeout(240)

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "site"
DEADLINE_S = 60.0


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("windows") / "site") as made:
        made.run("env", "deploy", "production", "--from", str(EXAMPLE))
        yield made


def release(site: Site, node: str) -> None:
    """Release the catalog of a node as soon as it is staged."""
    end_s = time.monotonic() + DEADLINE_S
    words = [PRECAST, "catalog", "show", node, "--json"]
    while time.monotonic() < end_s:
        done = subprocess.run(words, env=site.environment, capture_output=True, text=True, check=False)
        if done.returncode == 0 and json.loads(done.stdout)["staged"] is not None:
            site.run("release", node)
            return
    raise AssertionError(done.stderr)


def agent(root: Path, *words: str) -> str:
    command = [PRECAST, "agent", *words, "--root", str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


def test_run_of_a_node_without_a_connection_is_a_no_op_while_its_windows_are_closed(site: Site) -> None:
    site.enrol("held1")
    root = site.directory / "nodes" / "held1"
    (root / "etc").mkdir(parents=True, exist_ok=True)
    (root / "etc/os-release").write_text('ID=debian\nVERSION_ID="12"\n')
    site.run("window", "create", "freeze", "--rule", "Mon 00:00 7d", "--blackout")
    site.run("window", "bind", "freeze", "--target", "held*", "--class", "run-enforce")
    site.run("node", "policy", "set", "held1", "--enforce", "always")
    with AgentProcess(root, site.url) as daemon:
        daemon.until_settled()
        release(site, "held1")
        status = daemon.until(lambda status: "catalog" in status.get("run", {}))
        assert status["run"]["is_noop"]
    site.stop()
    looked = agent(root, "apply", "--reason", "schedule")
    assert "this run is a no-op: its maintenance windows are closed, and stay closed" in looked
    assert not (root / "etc/motd").exists()

    site.start()
    site.run("window", "unbind", "freeze", "--target", "held*")
    agent(root, "fetch", "--url", site.url)
    site.stop()
    agent(root, "apply", "--reason", "schedule")
    assert (root / "etc/motd").exists()
    site.start()
