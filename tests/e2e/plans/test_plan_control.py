"""People and runs of plans over real daemons: a failure is put right and the run resumed, approvals, retries, repeats, rebases, aborts."""

import re
from pathlib import Path

import pytest

from lab.processes import is_alive
from tests.e2e.plans.plan_fleet import PlanFleet

pytestmark = pytest.mark.timeout(300)


def test_failing_test_is_put_right_and_the_run_resumed(plans: PlanFleet, tmp_path: Path) -> None:
    log, fixed = tmp_path / "log", tmp_path / "fixed"
    text = f"""
- {{id: web, type: group}}
- id: deploy
  type: shell
  roles: [web]
  parameters: {{cmd: 'echo deploy >> {log}'}}
  test_post: {{cmd: 'test -e {fixed} || ! pwd | grep -q web2'}}
- id: switch
  type: shell
  roles: [web]
  cross_depends: [{{name: deploy}}]
  parameters: {{cmd: 'echo switch >> {log}'}}
"""
    shown = plans.command("plan", "start", plans.write(text), "--nodes", "web1,web2", code=4)
    assert "deploy on web2: its test after the task failed" in shown
    assert "2 other tasks cannot begin because of it" in shown
    run = re.search(r"^run (\S+) of", shown, re.MULTILINE)
    assert run is not None
    assert plans.states(run[1])["switch on web1"] == "dep_failed"
    fixed.touch()
    resumed = plans.read("plan", "resume", run[1])["run"]
    assert (resumed["run"]["state"], resumed["counts"]) == ("done", {"successful": 4})
    assert log.read_text().split() == ["deploy", "deploy", "deploy", "switch", "switch"]
    assert plans.refused("plan", "resume", run[1])[0] == 73  # there is nothing left


def test_status_of_a_run_says_which_node_holds_it_up(plans: PlanFleet) -> None:
    with plans.fleet.down("web2"):
        plan = plans.write("- {id: look, type: skipped, roles: [web], test_pre: {fact: os.name}}\n")
        words = ("plan", "start", plan, "--nodes", "web1,web2", "--wait-away", "1h", "--wait", "5s")
        output = plans.command(*words, code=3)
        run = output.split()[1]
        assert f"`precast plan status {run}` says what it waits for" in output
        assert "  web2: its node is away (1 task)" in plans.command("plan", "status", run).splitlines()
        plans.command("plan", "stop", run)


def test_test_before_a_task_that_fails_keeps_it_from_starting(plans: PlanFleet, tmp_path: Path) -> None:
    text = f"""
- id: gated
  type: shell
  roles: [web]
  parameters: {{cmd: 'touch {tmp_path}/done'}}
  test_pre: {{file: /srv/ready}}
"""
    run = plans.start(text, code=4, nodes="web1")
    (failure,) = run["failures"]
    assert (failure["reason"], failure["phase"]) == ("pre-test", "pre-test")
    assert not (tmp_path / "done").exists()
    (plans.root("web1") / "srv").mkdir(exist_ok=True)
    (plans.root("web1") / "srv/ready").touch()
    assert plans.read("plan", "retry", run["run"]["id"], "gated")["run"]["counts"] == {"successful": 1}


def test_approval_lets_a_task_go_once(plans: PlanFleet) -> None:
    text = """
- {id: prepare, type: shell, roles: [web], parameters: {cmd: 'true'}}
- {id: switch, type: shell, roles: [web], cross_depends: [{name: prepare}], approval: Is it night?, parameters: {cmd: 'true'}}
"""
    shown = plans.command("plan", "start", plans.write(text), "--nodes", "web1,web2", "--wait", "10s", code=3)
    assert shown.index("successful  prepare") < shown.index("switch waits for a person: Is it night?")
    run = shown.split()[1]
    assert f"switch: Is it night? (waits: precast plan approve {run} switch)" in plans.command("plan", "status", run)
    assert plans.states(run)["switch on web1"] == "pending"
    plans.command("plan", "approve", run, "switch")
    assert plans.until_ended(run)["counts"] == {"successful": 4}
    assert plans.refused("plan", "approve", run, "switch")[0] == 73
    assert plans.refused("plan", "approve", run, "prepare")[0] == 73


def test_task_is_repeated_on_one_node_with_the_inputs_that_it_had(plans: PlanFleet, tmp_path: Path) -> None:
    text = f"""
- id: port
  type: task
  roles: [web]
  parameters: {{task: 'shop::port', parameters: {{base: 80, offset: 8}}}}
- id: use
  type: shell
  roles: [web]
  inputs: {{own: {{task: port, key: port}}, all: {{task: port, key: port, role: web}}}}
  parameters: {{cmd: 'echo $PT_own $PT_all >> {tmp_path}/log'}}
  test_post: {{cmd: 'grep -q 808 {tmp_path}/log'}}
"""
    run = plans.start(text)
    assert run["counts"] == {"successful": 4}
    assert (tmp_path / "log").read_text() == '808 {"web1":808,"web2":808}\n' * 2
    again = plans.read("plan", "run-task", run["run"]["id"], "use", "web2", "--why", "to find out")["run"]
    assert (again["counts"], again["nodes"], again["run"]["why"]) == ({"successful": 1}, ["web2"], "to find out")
    assert (tmp_path / "log").read_text() == '808 {"web1":808,"web2":808}\n' * 3
    assert plans.refused("plan", "run-task", run["run"]["id"], "use", "web3")[0] == 66


def test_rebase_shows_what_changes_and_repeats_only_that(plans: PlanFleet, tmp_path: Path) -> None:
    def plan(command: str) -> str:
        return f"""
- {{id: first, type: shell, roles: [web], parameters: {{cmd: 'echo first >> {tmp_path}/log'}}}}
- {{id: second, type: shell, roles: [web], requires: [first], parameters: {{cmd: '{command}'}}}}
"""

    run = plans.start(plan("false"), nodes="web1", code=4)["run"]["id"]
    corrected = plans.write(plan(f"echo second >> {tmp_path}/log"))
    preview = plans.command("plan", "resume", run, "--rebase", corrected, "--preview")
    assert preview.splitlines() == [
        f"~ task second on web1, {corrected}:3",
        f'    parameters.cmd: "false" → "echo second >> {tmp_path}/log"',
        "nodes affected:",
        "    web1: ~ second",
        "what tasks do on nodes:",
        "    changed second on web1",
    ]
    assert plans.states(run)["second on web1"] == "failed"
    rebased = plans.read("plan", "resume", run, "--rebase", corrected)["run"]
    assert (rebased["counts"], (tmp_path / "log").read_text()) == ({"successful": 2}, "first\nsecond\n")


def test_abort_ends_what_runs_with_everything_that_it_has_started(plans: PlanFleet, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f'setsid sh -c "sleep 600 & echo \\$! > {pids}.new; mv {pids}.new {pids}" & sleep 600'
    text = f"""
- id: long
  type: shell
  roles: [web]
  parameters: {{cmd: '{script}'}}
- {{id: after, type: shell, roles: [web], requires: [long], parameters: {{cmd: 'true'}}}}
"""
    run = plans.begin(text, nodes="web1")
    assert plans.fleet.until_true(pids.exists)
    pid = int(pids.read_text())
    assert is_alive(pid)
    assert f"{run} is aborting" in plans.command("plan", "abort", run)
    assert plans.until_ended(run, code=5)["run"]["state"] == "aborted"
    assert not is_alive(pid)
    instances = plans.instances(run)
    assert (instances["long on web1"]["reason"], instances["after on web1"]["state"]) == ("aborted", "cancelled")


def test_stop_lets_what_runs_end_and_begins_nothing_more(plans: PlanFleet, tmp_path: Path) -> None:
    text = f"""
- id: long
  type: shell
  roles: [web]
  parameters: {{cmd: 'touch {tmp_path}/on; until test -e {tmp_path}/go; do sleep 0.1; done'}}
- {{id: after, type: shell, roles: [web], requires: [long], parameters: {{cmd: 'true'}}}}
"""
    run = plans.begin(text, nodes="web1")
    assert plans.fleet.until_true((tmp_path / "on").exists)
    plans.command("plan", "stop", run)
    (tmp_path / "go").touch()
    assert plans.until_ended(run, code=5)["run"]["state"] == "stopped"
    assert plans.states(run) == {"long on web1": "successful", "after on web1": "cancelled"}
    assert plans.read("plan", "resume", run)["run"]["counts"] == {"successful": 2}
