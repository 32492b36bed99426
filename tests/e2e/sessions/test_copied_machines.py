"""Two machines with one certificate, real daemons and a real server: neither gets orders until an operator has chosen one of them."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.agent_process import AgentProcess
from lab.agent_runs import enrolled, until
from lab.server_process import PRECAST
from lab.site import Site

pytestmark = pytest.mark.timeout(240)

ORDERED = "received an order: collect"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site") / "data") as running:
        yield running


def copied(agent: AgentProcess, root: Path, site: Site) -> AgentProcess:
    """A copy of the machine, with its pipes, like an image."""
    subprocess.run(["cp", "-a", agent.root, root], check=True)
    (root / "agent.log").unlink()
    return AgentProcess(root, site.url)


def give_id(agent: AgentProcess, machine_id: str) -> None:
    (agent.root / "etc").mkdir(exist_ok=True)
    (agent.root / "etc/machine-id").write_text(machine_id * 32 + "\n")


def trouble(agent: AgentProcess, code: str) -> str:
    """The trouble of the connection, once it has this code."""
    return str(
        agent.until(lambda status: code in status.get("connection", {}).get("trouble", ""))["connection"]["trouble"]
    )


def show(site: Site, node: str) -> dict[str, Any]:
    view: dict[str, Any] = site.run("node", "show", node)
    return view


def test_copy_that_connects_while_the_original_is_away_holds_the_node_until_an_operator_chooses(
    site: Site, tmp_path: Path
) -> None:
    with enrolled(site, "web1") as original:
        give_id(original, "a")
        original.until_settled()
        original.stop()
        copy = copied(original, tmp_path / "copy", site)
        give_id(copy, "b")
        # The copy is the first that connects, and knows everything that the original knows.
        with copy:
            said = trouble(copy, "SESSION-008")
            assert "web1 is on hold: two machines use its certificate" in said
            original.start()
            trouble(original, "SESSION-008")

            view = show(site, "web1")
            assert view["node"]["state"] == "held"
            machines = {machine["machine_id"][:1]: machine for machine in view["machines"]}
            assert sorted(machines) == ["a", "b"]
            assert {machine["state"] for machine in machines.values()} == {"on hold"}
            assert all(machine["boot_id"] and machine["address"] == "127.0.0.1" for machine in machines.values())
            assert machines["b"]["machine"] in said
            printed = subprocess.run(
                [PRECAST, "node", "show", "web1"], env=site.environment, capture_output=True, text=True, check=True
            )
            assert "precast node choose-machine web1 MACHINE" in printed.stdout
            (problem,) = [row for row in site.status()["problems"] if "on hold" in row["text"]]
            assert "web1" in problem["text"]

            # A run leaves it out and says why; an order waits for the machine that is chosen.
            ran = subprocess.run(
                [PRECAST, "run", "web1", "--json"], env=site.environment, capture_output=True, text=True, check=False
            )
            assert "it is on hold: two machines use its certificate" in ran.stdout
            site.run("facts", "collect", "web1")

            chosen = site.run("node", "choose-machine", "web1", machines["a"]["machine"], "--why", "the one in rack 7")
            assert (chosen["held_at"], [machine["state"] for machine in chosen["machines"]]) == (None, ["refused"])
            original.until_connected()
            original.until(lambda status: ORDERED in original.log)
            refused = trouble(copy, "SESSION-001") if copy.process else ""
            assert "precast agent enrol --again --name NAME" in refused
            assert ORDERED not in copy.log
            assert refused.split("[")[0].strip() in copy.log
            assert show(site, "web1")["node"]["state"] == "connected"
    actions = [row["action"] for row in site.run("audit") if row["target"] == "web1"]
    assert (actions.count("session.hold"), actions.count("node.choose-machine")) == (1, 1)


def test_refused_copy_becomes_a_node_of_its_own_by_the_command_in_the_message(site: Site, tmp_path: Path) -> None:
    with enrolled(site, "web2") as original:
        original.until_settled()
        original.stop()
        copy = copied(original, tmp_path / "copy", site)
        original.start()
        original.until_connected()
        with copy:
            trouble(copy, "SESSION-008")
            trouble(original, "SESSION-008")
            first = min(show(site, "web2")["machines"], key=lambda machine: str(machine["first_at"]))
            site.run("node", "choose-machine", "web2", first["machine"])
            original.until_connected()
            token = site.run("token", "enrol", "web3")["token"]
            (tmp_path / "token").write_text(token)
            (tmp_path / "token").chmod(0o600)
            words = ["--again", "--name", "web3", "--token-file", str(tmp_path / "token")]
            command = [PRECAST, "agent", "enrol", *words, "--root", str(copy.root), "--url", site.url]
            subprocess.run(command, capture_output=True, check=True)
            copy.until_connected()
            until(lambda: show(site, "web3")["node"]["state"] == "connected")
            assert show(site, "web2")["node"]["state"] == "connected"


def test_machine_set_back_to_a_snapshot_is_held_and_goes_on_by_one_command(site: Site, tmp_path: Path) -> None:
    with enrolled(site, "web4") as agent:
        agent.until_settled()
        agent.stop()
        snapshot = tmp_path / "snapshot"
        subprocess.run(["cp", "-a", agent.root, snapshot], check=True)
        agent.start()
        agent.until_connected()
        site.run("facts", "collect", "web4")
        agent.until(lambda status: agent.log.count(ORDERED) == 1 and status["spool"]["unacknowledged"] == 0)
        agent.stop()
        state = "var/lib/precast/agent"
        subprocess.run(["rm", "-r", agent.root / state], check=True)
        subprocess.run(["cp", "-a", snapshot / state, agent.root / state], check=True)
        agent.start()
        said = trouble(agent, "SESSION-008")
        assert "set back to an earlier state" in said
        command = said.rpartition("`")[0].rpartition("`")[2].split()
        assert command[:4] == ["precast", "node", "choose-machine", "web4"]
        site.run(*command[1:])
        agent.until_connected()
        site.run("facts", "collect", "web4")
        agent.until(lambda status: agent.log.count(ORDERED) == 2)
