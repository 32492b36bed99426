"""Jobs over the fleet with a real server, three real daemons and real commands; servers and agents are killed on the way."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.server_process import PRECAST
from precast.wire.plans.task_content import MAX_CONTENT_BYTES
from tests.e2e.jobs.run_fleet import DEADLINE_S, NODES, Fleet, running_fleet, state_of, steps_of

pytestmark = pytest.mark.timeout(300)

PROFILE = """class profile {
  file { '/etc/motd':
    content => "Hello to ${trusted['certname']}.\\n",
  }
  if $trusted['certname'] == 'web2' {
    file { '/no/such/place': content => 'x' }
  }
}
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("runs"), PROFILE) as created:
        yield created


@pytest.fixture(scope="module")
def commander(fleet: Fleet) -> str:
    return fleet.token("cyd")


def test_run_over_three_nodes_reports_changes_and_failures_with_reasons(fleet: Fleet) -> None:
    for name in NODES:
        (fleet.agents[name].root / "etc/motd").unlink(missing_ok=True)
    output = fleet.command("run", *NODES, "--why", "a test", code=4)
    assert re.search(r"^web1 +COMPLETED +1 changed of \d+", output, re.MULTILINE)
    assert re.search(r"^web2 +FAILED +1 changed, 1 failed", output, re.MULTILINE)
    assert "done: 2 COMPLETED, 1 FAILED, in" in output
    for name in NODES:
        assert (fleet.agents[name].root / "etc/motd").read_text() == f"Hello to {name}.\n"
    (report,) = re.findall(r"precast report show ([0-9a-f-]{36})", output)
    shown = fleet.command("report", "show", report, code=4)
    assert "declared at modules/profile/manifests/init.pp:6  file { '/no/such/place': content => 'x' }" in shown
    assert f"production version 1, commit {fleet.commit[:12]}" in shown
    assert "release 1," in shown
    again = fleet.read("run", *NODES, "--noop", "--detailed-exitcodes", code=2)
    assert again["run"]["counts"] == {"COMPLETED": 3}
    result = steps_of(again)["web2"]["result"]
    assert (result["is_noop"], result["pending"]) == (True, 1)
    listed = fleet.read("run", "list")
    assert [job["state"] for job in listed[:2]] == ["done", "done"]
    assert fleet.read("run", "show", listed[1]["id"])["run"]["why"] == "a test"
    assert fleet.read("report", "list", "--order", listed[1]["id"], "--failed")[0]["node"] == "web2"


def test_batches_stop_at_the_first_failure(fleet: Fleet) -> None:
    answer = fleet.read("run", *NODES, "--batch", "1", code=4)
    states = {node: state_of(step) for node, step in steps_of(answer).items()}
    assert answer["run"]["state"] == "halted"
    assert states == {"web1": "COMPLETED", "web2": "FAILED(failed)", "web3": "SKIPPED(halted)"}


def test_command_output_is_streamed_where_the_node_allows_commands(fleet: Fleet, commander: str) -> None:
    script = "echo one; echo two >&2; exit $(basename $PWD | tr -dc 2)"
    output = fleet.command("exec", *NODES, "--", "sh", "-c", script, code=4, token=commander)
    assert re.search(r"^web1 +\| one$", output, re.MULTILINE)
    assert re.search(r"^web2 +! two$", output, re.MULTILINE)
    assert re.search(r"^web1 +COMPLETED", output, re.MULTILINE)
    assert re.search(r"^web2 +FAILED +it ended with 2", output, re.MULTILINE)
    assert re.search(
        r"^web3 +FAILED\(refused\) +this node runs no commands: allow_exec is not set", output, re.MULTILINE
    )
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
        (("run", "web1", "--batch", "0"), 64, "--batch '0' is not valid"),
        (("run", "web1", "--canary", "0"), 64, "--canary '0' is not valid"),
        (("run", "web1", "--per-minute", "0"), 64, "--per-minute '0' is invalid"),
        (("run", "web1", "--tries", "many"), 64, "--tries 'many' is invalid"),
        (("run", "web1", "--try-every", "5m"), 64, "--try-every has no effect without --tries"),
        (("run", "web1", "--wait", "soon"), 64, "not a duration"),
        (("run", "web1", "--nop"), 64, "did you mean '--noop'?"),
        (("run", "show", "nothing"), 66, "[RUN-001]"),
        (("run", "watch", "nothing"), 66, "[RUN-001]"),
        (("run", "stop", "nothing"), 66, "[RUN-001]"),
        (("run", "abort", "nothing"), 66, "[RUN-001]"),
        (("run", "resume", "nothing"), 66, "[RUN-001]"),
        (("run", "retry", "nothing"), 66, "[RUN-001]"),
        (("exec", "web1"), 64, "no command"),
    ],
)
def test_mistake_is_reported_in_one_line(fleet: Fleet, words: tuple[str, ...], code: int, answer: str) -> None:
    assert answer in fleet.command(*words, code=code)


def test_node_that_is_away_is_reported_and_waited_for_only_on_request(fleet: Fleet) -> None:
    with fleet.down("web3"):
        output = fleet.command("run", "web1", "web3", "--noop", code=1)
        assert re.search(r"^web3 +SKIPPED\(away\) +it is not connected", output, re.MULTILINE)
        run = fleet.read("run", "web3", "--noop", "--wait-away", "10m", "--detach")["id"]
        assert f"`precast run show {run}` says what" in fleet.command("run", "watch", run, "--wait", "1s", code=3)
        assert re.search(r"^web3 +QUEUED +its node is away", fleet.command("run", "show", run), re.MULTILINE)
        output = fleet.command("run", "web3", "--noop", "--wait-away", "1s", code=1)
        assert re.search(r"^web3 +EXPIRED +it was away until the end of the wait", output, re.MULTILINE)
        output = fleet.command("run", "web3", "--noop", "--tries", "1", code=4)
        assert re.search(r"^web3 +FAILED\(unreachable\) +it was looked for once", output, re.MULTILINE)
    assert fleet.until_ended(run)["run"]["counts"] == {"COMPLETED": 1}


def test_order_to_enforce_that_the_policy_forbids_fails_and_says_why(fleet: Fleet) -> None:
    agent = fleet.agents["web1"]
    (agent.root / "etc/motd").unlink(missing_ok=True)
    fleet.site.run("node", "policy", "set", "web1", "--enforce", "never")
    try:
        agent.until(lambda status: status["policy"]["enforce"] == "never")
        output = fleet.command("run", "web1", code=4)
        why = "its policy permits no run to enforce"
        pattern = rf"^web1 +FAILED\(no-op-only\) +1 pending.* of \d+; the node allows no-op runs only: {why}"
        assert re.search(pattern, output, re.MULTILINE), output
        (report,) = fleet.read("report", "list", "--node", "web1", "--most", "1")
        assert (report["mode"], report["state"], report["why"]) == ("noop", "ended", why)
        assert re.search(rf"^no-op +{why}$", fleet.command("report", "show", report["id"]), re.MULTILINE)
        assert not (agent.root / "etc/motd").exists()
        # A job that asks for a no-op gets no such reason.
        assert "no-op" not in fleet.command("run", "web1", "--noop")
    finally:
        fleet.site.run("node", "policy", "set", "web1", "--enforce", "triggered")
        agent.until(lambda status: status["policy"]["enforce"] == "triggered")


def test_order_that_expired_before_its_node_claimed_it_never_begins(fleet: Fleet) -> None:
    agent = fleet.agents["web3"]
    motd = agent.root / "etc/motd"
    motd.unlink(missing_ok=True)
    assert agent.process is not None
    agent.process.send_signal(signal.SIGSTOP)  # it is connected, and does not answer
    try:
        output = fleet.command("run", "web3", "--begin", "1s", code=4)
        assert re.search(r"^web3 +EXPIRED +it did not begin in time", output, re.MULTILINE)
    finally:
        agent.process.send_signal(signal.SIGCONT)
    # The node carries out its orders one after the other.
    assert fleet.read("run", "web3", "--noop", "--wait-away", "1m")["run"]["counts"] == {"COMPLETED": 1}
    assert not motd.exists()


def test_command_whose_token_was_revoked_is_not_run_and_holds_up_nothing(fleet: Fleet, commander: str) -> None:
    token = fleet.site.run("token", "person", "eve", "--role", "commands")
    with fleet.down("web2") as agent:
        mark = agent.root / "ran-by-a-revoked-token"
        words = ("exec", "web2", "--wait-away", "10m", "--detach", "--")
        revoked = fleet.read(*words, "touch", str(mark), token=token["token"])["id"]
        after = fleet.read(*words, "true", token=commander)["id"]
        fleet.site.run("token", "revoke", token["id"])
    for run in (revoked, after):
        fleet.until_ended(run)
    step = fleet.steps(revoked)["web2"]
    assert (state_of(step), mark.exists()) == ("FAILED(refused)", False)
    assert "it is not signed by an authority that this node trusts" in step["message"]
    assert fleet.steps(after)["web2"]["state"] == "COMPLETED"


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
    while fleet.read("run", "list")[0]["counts"].get("PICKED_UP") != 1:
        assert time.monotonic() < end_s
    fleet.site.kill()
    gate.touch()
    fleet.site.start()
    output, _ = watching.communicate(timeout=120)
    assert watching.returncode == 0, output
    assert re.search(r"^web1 +\| through$", output, re.MULTILINE)
    assert re.search(r"^web2 +\| through$", output, re.MULTILINE)
    assert "the run is stored, trying again" in output
    assert "done: 2 COMPLETED" in output


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
    for process in (parent, shell):
        os.kill(process, signal.SIGKILL)
    agent.start()
    step = steps_of(fleet.until_ended(run))["web1"]
    assert (state_of(step), step["message"]) == (
        "FAILED(interrupted)",
        "the command was broken off: the process that ran it was ended from outside",
    )
    assert marks.read_text() == "x\n"


def whole_output(fleet: Fleet, run: str, node: str, token: str, *words: str) -> bytes:
    environment = {**fleet.site.environment, "PRECAST_TOKEN": token}
    done = subprocess.run([PRECAST, "exec", "output", run, node, *words], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_output_beyond_its_limit_is_fetched_whole_by_the_role_for_commands(
    fleet: Fleet, commander: str, tmp_path: Path
) -> None:
    script = 'printf "a%.0s" $(seq 20000); printf "\\0\\377end"; echo late >&2'
    expected = b"a" * 20_000 + b"\0\xffend" + b"late\n"
    answer = fleet.read("exec", "web1", "--output", "100", "--", "sh", "-c", script, token=commander)
    run, result = answer["run"]["id"], steps_of(answer)["web1"]["result"]
    assert result["output"] == {"size": len(expected)}, "stored, and without its digest"
    assert "has all 20010 bytes" in fleet.command("exec", "watch", run, token=commander)
    found = whole_output(fleet, run, "web1", commander)
    assert sorted(found) == sorted(expected), "of two streams, in the order in which they were read"
    assert whole_output(fleet, run, "web1", commander, "-o", str(tmp_path / "file")) == b""
    assert (tmp_path / "file").read_bytes() == found
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
    small = fleet.read("exec", "web1", "--", "true", token=commander)["run"]["id"]
    assert "[PLAN-192]" in fleet.command("exec", "output", small, "web1", code=66, token=commander)
    assert "[PLAN-192]" in fleet.command("exec", "output", run, "web2", code=66, token=commander)
    assert "[API-003]" in fleet.command("exec", "output", run, "web1", code=77)


def test_output_that_is_larger_than_content_may_be_is_not_stored_and_says_so(fleet: Fleet, commander: str) -> None:
    argv = ["head", "-c", str(MAX_CONTENT_BYTES + 1), "/dev/zero"]
    answer = fleet.read("exec", "web1", "--", *argv, token=commander)
    run, output = answer["run"]["id"], steps_of(answer)["web1"]["result"]["output"]
    assert (output["size"], "digest" in output) == (MAX_CONTENT_BYTES + 1, False)
    assert "larger than" in output["error"]
    assert steps_of(answer)["web1"]["state"] == "COMPLETED"
    assert "larger than" in fleet.command("exec", "output", run, "web1", code=66, token=commander)
