"""Jobs over the fleet with a real server, three real daemons and real commands; servers and agents are killed on the way."""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lab.agent_process import AgentProcess
from lab.server_process import PRECAST
from lab.site import Site

pytestmark = pytest.mark.timeout(300)

DEADLINE_S = 60.0
NODES = ("web1", "web2", "web3")
PROFILE = """class profile {
  file { '/etc/motd':
    content => "Hello to ${trusted['certname']}.\\n",
  }
  if $trusted['certname'] == 'web2' {
    file { '/no/such/place': content => 'x' }
  }
}
"""


class Fleet:
    """Three nodes with running daemons and released catalogs, and the commands that act on them."""

    def __init__(self, site: Site, directory: Path) -> None:
        self.site = site
        self.code = directory / "code"
        manifests = self.code / "modules/profile/manifests"
        manifests.mkdir(parents=True)
        (self.code / "manifests").mkdir()
        (self.code / "manifests/site.pp").write_text("include profile\n")
        (manifests / "init.pp").write_text(PROFILE)
        self.commit = self._commit()
        self.agents = {name: self._node(name) for name in NODES}

    def _commit(self) -> str:
        ours = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
        for words in (
            ["init", "-qb", "main"],
            ["add", "."],
            [*ours, "commit", "-qm", "a profile"],
            ["rev-parse", "HEAD"],
        ):
            done = subprocess.run(["git", *words], cwd=self.code, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def _node(self, name: str) -> AgentProcess:
        self.site.enrol(name)
        root = self.site.directory / "nodes" / name
        (root / "etc/precast").mkdir(parents=True, exist_ok=True)
        (root / "etc/os-release").write_text('ID=debian\nVERSION_ID="12"\n')
        if name != "web3":
            (root / "etc/precast/agent.toml").write_text("allow_exec = true\n")
        return AgentProcess(root, self.site.url)

    def release(self) -> None:
        self.site.run("env", "deploy", "production", "--git", str(self.code), "--ref", "main")
        self.site.run("release", *NODES, "--wait")

    def command(self, *words: str, code: int = 0, token: str = "") -> str:
        environment = {**self.site.environment, **({"PRECAST_TOKEN": token} if token else {})}
        done = subprocess.run([PRECAST, *words], env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    def read(self, *words: str, code: int = 0, token: str = "") -> Any:
        at = words.index("--") if "--" in words else len(words)
        return json.loads(self.command(*words[:at], "--json", *words[at:], code=code, token=token))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    directory = tmp_path_factory.mktemp("runs")
    with Site(directory / "site") as site:
        created = Fleet(site, directory)
        try:
            for agent in created.agents.values():
                agent.start()
            for agent in created.agents.values():
                agent.until_settled()
            site.run("node", "policy", "set", *NODES, "--enforce", "triggered")
            for agent in created.agents.values():
                agent.until(lambda status: status.get("policy", {}).get("enforce") == "triggered")
            created.release()
            yield created
        finally:
            for agent in created.agents.values():
                if agent.process is not None:
                    agent.kill()


@pytest.fixture(scope="module")
def commander(fleet: Fleet) -> str:
    return str(fleet.site.run("token", "person", "cyd", "--role", "commands")["token"])


def steps_of(answer: Any) -> dict[str, Any]:
    return {step["node"]: step for step in answer["steps"]}


def test_run_over_three_nodes_reports_changes_and_failures_with_reasons(fleet: Fleet) -> None:
    for name in NODES:
        (fleet.agents[name].root / "etc/motd").unlink(missing_ok=True)
    output = fleet.command("run", *NODES, "--why", "a test", code=4)
    assert re.search(r"^web1 +done +1 changed of \d+", output, re.MULTILINE)
    assert re.search(r"^web2 +failed +1 changed, 1 failed", output, re.MULTILINE)
    assert "done: 2 done, 1 failed, in" in output
    for name in NODES:
        assert (fleet.agents[name].root / "etc/motd").read_text() == f"Hello to {name}.\n"
    (report,) = re.findall(r"precast report show ([0-9a-f-]{36})", output)
    shown = fleet.command("report", "show", report, code=4)
    assert "declared at modules/profile/manifests/init.pp:6  file { '/no/such/place': content => 'x' }" in shown
    assert f"production version 1, commit {fleet.commit[:12]}" in shown
    assert "release 1," in shown
    again = fleet.read("run", *NODES, "--noop", "--detailed-exitcodes", code=2)
    assert again["run"]["counts"] == {"done": 3}
    result = steps_of(again)["web2"]["result"]
    assert (result["is_noop"], result["pending"]) == (True, 1)
    listed = fleet.read("run", "list")
    assert [job["state"] for job in listed[:2]] == ["done", "done"]
    assert fleet.read("run", "show", listed[1]["id"])["run"]["why"] == "a test"
    assert fleet.read("report", "list", "--order", listed[1]["id"], "--failed")[0]["node"] == "web2"


def test_batches_stop_at_the_first_failure(fleet: Fleet) -> None:
    answer = fleet.read("run", *NODES, "--batch", "1", code=4)
    states = {node: step["state"] for node, step in steps_of(answer).items()}
    assert (answer["run"]["state"], states) == ("halted", {"web1": "done", "web2": "failed", "web3": "left-out"})


def test_command_output_is_streamed_where_the_node_allows_commands(fleet: Fleet, commander: str) -> None:
    script = "echo one; echo two >&2; exit $(basename $PWD | tr -dc 2)"
    output = fleet.command("exec", *NODES, "--", "sh", "-c", script, code=4, token=commander)
    assert re.search(r"^web1 +\| one$", output, re.MULTILINE)
    assert re.search(r"^web2 +! two$", output, re.MULTILINE)
    assert re.search(r"^web1 +done", output, re.MULTILINE)
    assert re.search(r"^web2 +failed +it ended with 2", output, re.MULTILINE)
    assert re.search(r"^web3 +did not run +this node runs no commands: allow_exec is not set", output, re.MULTILINE)
    (entry,) = [row for row in fleet.site.run("audit", "--limit", "5") if row["action"] == "command.run"]
    assert entry["detail"]["argv"] == ["sh", "-c", script]
    answer = fleet.read("exec", "web1", "--deadline", "2s", "--", "sleep", "600", code=4, token=commander)
    assert steps_of(answer)["web1"]["message"] == "it took too long and was ended"
    answer = fleet.read("exec", "web1", "--output", "20", "--", "seq", "100", token=commander)
    assert steps_of(answer)["web1"]["result"]["cut_bytes"] > 200
    answer = fleet.read("exec", "web1", "--", "/no/such", code=4, token=commander)
    assert steps_of(answer)["web1"]["message"] == "/no/such cannot be run: No such file or directory"


def test_command_needs_a_role_of_its_own(fleet: Fleet, commander: str) -> None:
    assert "[API-003]" in fleet.command("exec", "web1", "--", "true", code=77)
    assert "[API-003]" in fleet.command("run", "web1", code=77, token=commander)


@pytest.mark.parametrize(
    ("words", "code", "answer"),
    [
        (("run", "nobody"), 66, "[NODE-001]"),
        (("run",), 64, "[TARGET-005]"),
        (("run", "web1", "--batch", "0"), 64, "neither a number nor a percentage"),
        (("run", "web1", "--wait", "soon"), 64, "not a duration"),
        (("run", "web1", "--nop"), 64, "did you mean '--noop'?"),
        (("run", "show", "nothing"), 66, "[RUN-001]"),
        (("run", "stop", "nothing"), 66, "[RUN-001]"),
        (("exec", "web1"), 64, "no command"),
    ],
)
def test_mistake_is_reported_in_one_line(fleet: Fleet, words: tuple[str, ...], code: int, answer: str) -> None:
    assert answer in fleet.command(*words, code=code)


def test_node_that_is_away_is_reported_and_waited_for_only_on_request(fleet: Fleet) -> None:
    agent = fleet.agents["web3"]
    agent.stop()
    try:
        end_s = time.monotonic() + DEADLINE_S
        while fleet.read("run", "web3", "--noop", code=1)["run"]["counts"] != {"away": 1}:
            assert time.monotonic() < end_s
        output = fleet.command("run", "web1", "web3", "--noop", code=1)
        assert re.search(r"^web3 +away +it is not connected", output, re.MULTILINE)
        run = fleet.read("run", "web3", "--noop", "--wait-away", "10m", "--detach")["id"]
        assert fleet.command("run", "web3", "--noop", "--wait-away", "10m", "--wait", "1s", code=3)
    finally:
        agent.start()
    end_s = time.monotonic() + DEADLINE_S
    while (view := fleet.read("run", "show", run)["run"])["ended_at"] is None:
        assert time.monotonic() < end_s
    assert view["counts"] == {"done": 1}


def test_order_to_enforce_that_the_policy_forbids_says_why_it_was_a_no_op(fleet: Fleet) -> None:
    agent = fleet.agents["web1"]
    (agent.root / "etc/motd").unlink(missing_ok=True)
    fleet.site.run("node", "policy", "set", "web1", "--enforce", "never")
    try:
        agent.until(lambda status: status["policy"]["enforce"] == "never")
        output = fleet.command("run", "web1")
        why = "its policy permits no run to enforce"
        assert re.search(rf"^web1 +done +1 pending.* of \d+; no-op: {why}", output, re.MULTILINE), output
        (report,) = fleet.read("report", "list", "--node", "web1", "--most", "1")
        assert (report["mode"], report["state"], report["why"]) == ("noop", "ended", why)
        assert re.search(rf"^no-op +{why}$", fleet.command("report", "show", report["id"]), re.MULTILINE)
        assert not (agent.root / "etc/motd").exists()
        # A job that asks for a no-op gets no such reason.
        assert "no-op" not in fleet.command("run", "web1", "--noop")
    finally:
        fleet.site.run("node", "policy", "set", "web1", "--enforce", "triggered")
        agent.until(lambda status: status["policy"]["enforce"] == "triggered")


def test_order_that_expired_while_its_node_was_away_never_begins_and_is_reported(fleet: Fleet) -> None:
    agent = fleet.agents["web3"]
    agent.stop()
    motd = agent.root / "etc/motd"
    motd.unlink(missing_ok=True)
    try:
        while fleet.read("run", "web3", "--noop", code=1)["run"]["counts"] != {"away": 1}:
            pass  # the test's own deadline ends this
        run = fleet.read("run", "web3", "--wait-away", "1s", "--begin", "1s", "--detach")
        made_at = datetime.fromisoformat(run["made_at"])
        while datetime.now(UTC) < made_at + timedelta(seconds=2):
            assert fleet.read("run", "show", run["id"])["run"]["state"] == "going"
    finally:
        agent.start()
    while (answer := fleet.read("run", "show", run["id"]))["run"]["ended_at"] is None:
        pass
    step = steps_of(answer)["web3"]
    assert (answer["run"]["counts"], step["state"]) == ({"not-run": 1}, "not-run")
    assert "it had to begin before " in step["message"]
    assert re.search(
        r"^web3 +did not run +.*it had to begin before ", fleet.command("run", "show", run["id"]), re.MULTILINE
    )
    (report,) = fleet.read("report", "list", "--order", run["id"])
    assert (report["state"], report["why"].partition(":")[0]) == ("not-run", "expired")
    assert "did not run: expired: it had to begin before " in fleet.command("report", "show", report["id"], code=4)
    assert not motd.exists()


def test_command_whose_token_was_revoked_is_not_run_and_holds_up_nothing(fleet: Fleet, commander: str) -> None:
    agent = fleet.agents["web2"]
    mark = agent.root / "ran-by-a-revoked-token"
    token = fleet.site.run("token", "person", "eve", "--role", "commands")
    agent.stop()
    try:
        while fleet.read("run", "web2", "--noop", code=1)["run"]["counts"] != {"away": 1}:
            pass  # the test's own deadline ends this
        words = ("exec", "web2", "--wait-away", "10m", "--detach", "--")
        revoked = fleet.read(*words, "touch", str(mark), token=token["token"])["id"]
        after = fleet.read(*words, "true", token=commander)["id"]
        fleet.site.run("token", "revoke", token["id"])
    finally:
        agent.start()
    while any(fleet.read("run", "show", run)["run"]["ended_at"] is None for run in (revoked, after)):
        pass
    step = steps_of(fleet.read("run", "show", revoked))["web2"]
    assert (step["state"], mark.exists()) == ("not-run", False)
    assert "it is not signed by an authority that this node trusts" in step["message"]
    assert steps_of(fleet.read("run", "show", after))["web2"]["state"] == "done"


def test_server_killed_in_the_middle_does_not_end_the_job(fleet: Fleet, commander: str) -> None:
    """One node at a time; the first command waits until the server was killed, and ends when it runs again."""
    gate = fleet.site.directory / "gate"
    script = f"while [ ! -e {gate} ]; do sleep 0.1; done; echo through"
    words = ["exec", "web1", "web2", "--at-once", "1", "--", "sh", "-c", script]
    watching = subprocess.Popen(
        [PRECAST, *words],
        env={**fleet.site.environment, "PRECAST_TOKEN": commander},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    end_s = time.monotonic() + DEADLINE_S
    while fleet.read("run", "list")[0]["counts"].get("began") != 1:
        assert time.monotonic() < end_s
    fleet.site.kill()
    gate.touch()
    fleet.site.start()
    output, _ = watching.communicate(timeout=120)
    assert watching.returncode == 0, output
    assert re.search(r"^web1 +\| through$", output, re.MULTILINE)
    assert re.search(r"^web2 +\| through$", output, re.MULTILINE)
    assert "the run is stored, trying again" in output
    assert "done: 2 done" in output


def test_agent_killed_in_the_middle_is_reported_and_nothing_is_done_twice(fleet: Fleet, commander: str) -> None:
    agent = fleet.agents["web1"]
    marks = fleet.site.directory / "marks"
    script = f"echo x >> {marks}; echo $$ > {marks}.pid; sleep 600"
    run = fleet.read("exec", "web1", "--detach", "--", "sh", "-c", script, token=commander)["id"]
    end_s = time.monotonic() + DEADLINE_S
    while not Path(f"{marks}.pid").exists() or not Path(f"{marks}.pid").read_text().strip():
        assert time.monotonic() < end_s
    shell = int(Path(f"{marks}.pid").read_text())
    agent.kill()
    parent = int(Path(f"/proc/{shell}/stat").read_text().rpartition(")")[2].split()[1])
    subprocess.run(["kill", "-9", str(parent), str(shell)], check=True)
    agent.start()
    while (answer := fleet.read("run", "show", run))["run"]["ended_at"] is None:
        assert time.monotonic() < end_s
    step = steps_of(answer)["web1"]
    assert (step["state"], step["message"]) == (
        "failed",
        "the command was broken off: the process that ran it was ended from outside",
    )
    assert marks.read_text() == "x\n"
