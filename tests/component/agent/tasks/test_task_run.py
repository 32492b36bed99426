"""Tasks carried out by their real process: phases, output, retries, the deadline, and the end of everything that they have started."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lab.processes import is_alive
from precast.agent.applying.lease import is_run_active
from precast.agent.state.paths import STATE
from precast.wire.jobs.orders import EXEC_OUTPUT, NOT_RUN, TASK_ENDED, TASK_PHASE
from precast.wire.jobs.programs import CommandTest, FileTest, NoWork, ShellWork, TaskProgram
from tests.component.agent.tasks.stage import Stage, wait_for


def forked_twice(pid_file: Path) -> str:
    """A command that starts a process in a session of its own, whose parent ends, and then waits."""
    script = (
        "import os, signal, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"        open({str(pid_file)!r} + '.new', 'w').write(str(os.getpid()))\n"
        f"        os.rename({str(pid_file)!r} + '.new', {str(pid_file)!r})\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
    )
    return f"{sys.executable} -c \"{script}\"; trap '' TERM; sleep 600; sleep 600"


def test_phases_and_output_are_reported_in_order_with_one_count_of_lines(stage: Stage) -> None:
    outcome = stage.run(
        ShellWork("echo two; echo three >&2; sleep 0.3; echo four"),
        before=[CommandTest(cmd="echo one")],
        after=[CommandTest(cmd="echo five"), FileTest(path="/etc", state="directory")],
    )
    assert outcome.phases == [
        ("pre-test", "1 test"),
        ("task", "shell: echo two; echo three >&2; sleep 0.3; echo four"),
        ("post-test", "2 tests"),
    ]
    assert sorted(outcome.lines) == sorted(["one", "two", "three", "four", "five"])
    assert (outcome.lines[0], outcome.lines[3:]) == ("one", ["four", "five"])
    assert outcome.order[:3] == [TASK_PHASE, EXEC_OUTPUT, TASK_PHASE]
    assert outcome.order[-3:] == [TASK_PHASE, EXEC_OUTPUT, TASK_ENDED]
    ended = outcome.ended
    assert (ended.is_success, ended.phase, ended.code, ended.lines, ended.cut_bytes) == (True, "post-test", 0, 5, 0)
    assert outcome.state == "ended"


def test_failed_pre_test_keeps_the_work_from_beginning(stage: Stage, tmp_path: Path) -> None:
    outcome = stage.run(
        ShellWork(f"touch {tmp_path}/done"),
        before=[CommandTest(cmd="true"), CommandTest(cmd="echo no; exit 3")],
        after=[CommandTest(cmd=f"touch {tmp_path}/done")],
    )
    ended = outcome.ended
    assert (ended.is_success, ended.phase, ended.code) == (False, "pre-test", 3)
    assert ended.message == "pre-test 2 of 2 (command echo no; exit 3): it ended with 3"
    assert ended.telling_line == "no"
    assert [phase for phase, _ in outcome.phases] == ["pre-test"]
    assert not (tmp_path / "done").exists()


def test_failed_work_is_not_tested(stage: Stage) -> None:
    outcome = stage.run(ShellWork("echo broken >&2; exit 4"), after=[CommandTest(cmd="true")])
    ended = outcome.ended
    assert (ended.is_success, ended.phase, ended.code, ended.message) == (False, "task", 4, "it ended with 4")
    assert ended.telling_line == "broken"
    assert [phase for phase, _ in outcome.phases] == ["task"]


def test_failed_post_test_fails_the_task(stage: Stage) -> None:
    ended = stage.run(ShellWork("true"), after=[CommandTest(cmd="exit 1")]).ended
    assert (ended.is_success, ended.phase, ended.code) == (False, "post-test", 1)


def test_work_is_repeated_until_it_succeeds(stage: Stage, tmp_path: Path) -> None:
    count = f"echo x >> {tmp_path}/count; test $(wc -l < {tmp_path}/count) = 3"
    outcome = stage.run(ShellWork(count), before=[CommandTest(cmd="true")], retries=5, interval_s=0.05)
    assert outcome.ended.is_success
    assert [message for phase, message in outcome.phases if phase == "task"][1:] == ["attempt 2 of 6", "attempt 3 of 6"]
    assert len(outcome.phases) == 4, "the test is not repeated"


def test_work_fails_when_its_retries_are_used_up(stage: Stage, tmp_path: Path) -> None:
    outcome = stage.run(ShellWork(f"echo x >> {tmp_path}/count; exit 7"), retries=2, interval_s=0.0)
    assert (outcome.ended.is_success, outcome.ended.code) == (False, 7)
    assert (tmp_path / "count").read_text() == "x\n" * 3


def test_test_is_repeated_until_it_passes(stage: Stage, tmp_path: Path) -> None:
    count = f"echo x >> {tmp_path}/count; test $(wc -l < {tmp_path}/count) = 2"
    assert stage.run(NoWork(), after=[CommandTest(cmd=count, within_s=30.0)]).ended.is_success
    assert (tmp_path / "count").read_text() == "x\n" * 2


def test_test_that_takes_too_long_fails_and_leaves_no_process(stage: Stage, tmp_path: Path) -> None:
    test = CommandTest(cmd=forked_twice(tmp_path / "pid"), timeout_s=3.0)
    ended = stage.run(NoWork(), before=[test]).ended
    assert (ended.is_success, ended.phase, ended.is_overdue) == (False, "pre-test", False)
    assert ended.message.endswith("it took more than 3 s")
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_test_that_passes_leaves_no_process(stage: Stage, tmp_path: Path) -> None:
    left = f"setsid sleep 600 & echo $! > {tmp_path}/pid"
    assert stage.run(NoWork(), before=[CommandTest(cmd=left)]).ended.is_success
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_process_that_a_work_has_left_running_stays(stage: Stage, tmp_path: Path) -> None:
    work = ShellWork(f"setsid sleep 600 > /dev/null 2>&1 & echo $! > {tmp_path}/pid; sleep 0.2")
    late = CommandTest(cmd="sleep 600", timeout_s=0.2)
    assert stage.run(work, after=[late]).ended.phase == "post-test"
    pid = int((tmp_path / "pid").read_text())
    assert is_alive(pid), "neither the end of the task nor that of a test ends a service"
    os.kill(pid, signal.SIGKILL)


def test_everything_that_a_task_has_started_is_killed_at_its_deadline(stage: Stage, tmp_path: Path) -> None:
    service = ShellWork(f"setsid sleep 600 > /dev/null 2>&1 & echo $! > {tmp_path}/service")
    outcome = stage.run(service, after=[CommandTest(cmd=forked_twice(tmp_path / "pid"))], timeout_s=4.0)
    ended = outcome.ended
    assert (ended.is_success, ended.phase, ended.is_overdue) == (False, "post-test", True)
    assert ended.message.startswith("it took more than the 4 s that it has")
    for name in ("pid", "service"):
        assert not is_alive(int((tmp_path / name).read_text()))


def test_work_is_asked_to_end_at_the_deadline_and_what_it_says_then_is_reported(stage: Stage) -> None:
    outcome = stage.run(
        ShellWork("trap 'echo bye; exit 5' TERM; echo on; while :; do sleep 0.1; done 2> /dev/null"), timeout_s=3.0
    )
    ended = outcome.ended
    assert (ended.phase, ended.is_overdue, ended.code) == ("task", True, 5)
    assert [line for line in outcome.lines if line != "Terminated"] == ["on", "bye"]


def test_deadline_ends_the_retries_too(stage: Stage) -> None:
    ended = stage.run(ShellWork("exit 1"), retries=100, interval_s=1_000.0, timeout_s=2.0).ended
    assert (ended.is_success, ended.phase, ended.is_overdue, ended.code) == (False, "task", True, 1)


def test_aborted_task_ends_with_everything_it_has_started_and_is_answered(stage: Stage, tmp_path: Path) -> None:
    stage.grant(TaskProgram("t", ShellWork(forked_twice(tmp_path / "pid"))))
    process = stage.start()
    wait_for((tmp_path / "pid").exists)
    stage.abort()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert stage.outcome().not_run == ("aborted", "the task was aborted in its phase task")
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_process_that_was_asked_to_end_from_outside_answers_interrupted(stage: Stage, tmp_path: Path) -> None:
    stage.grant(TaskProgram("t", ShellWork(f"touch {tmp_path}/on; sleep 600")))
    process = stage.start()
    wait_for((tmp_path / "on").exists)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    reason, message = stage.outcome().not_run
    assert (reason, message.split(":")[0]) == ("interrupted", "the task was broken off in its phase task")


def kill(stage: Stage, process: "subprocess.Popen[str]") -> None:
    """Kill the process of a task, and wait until its step has ended with it."""
    process.kill()
    process.communicate(timeout=60)
    wait_for(lambda: not is_run_active(stage.root / STATE))


def test_task_whose_process_is_killed_is_interrupted_in_its_phase_and_not_repeated(
    stage: Stage, tmp_path: Path
) -> None:
    stage.grant(
        TaskProgram("t", ShellWork(f"sleep 600 & echo $! > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; wait"))
    )
    process = stage.start()
    wait_for((tmp_path / "pid").exists)
    kill(stage, process)
    assert not is_alive(int((tmp_path / "pid").read_text()))
    stage.recover()
    outcome = stage.outcome()
    assert outcome.not_run == (
        "interrupted",
        "the task was broken off in its phase task: the process that ran it was ended from outside",
    )
    assert outcome.state == "ended"


def test_task_that_only_tests_is_repeated_if_its_process_is_killed_and_counts_its_lines_on(
    stage: Stage, tmp_path: Path
) -> None:
    test = CommandTest(cmd=f"echo line; touch {tmp_path}/on; test -e {tmp_path}/second || sleep 600")
    stage.grant(TaskProgram("t", NoWork(), before=[test]), expires_at=datetime.now(UTC) + timedelta(seconds=3))
    process = stage.start()
    wait_for(lambda: stage.outcome().lines)
    kill(stage, process)
    (tmp_path / "second").touch()
    stage.recover()
    assert stage.outcome().state == "waiting"
    stage.claim_and_grant()
    stage.carry_out()
    outcome = stage.outcome()
    assert (outcome.ended.is_success, outcome.ended.lines, outcome.lines) == (True, 2, ["line", "line"])


def test_output_beyond_its_bound_is_dropped_and_counted_over_all_phases(stage: Stage) -> None:
    work = ShellWork("printf '%s\\n' bbbb cccc")
    outcome = stage.run(work, before=[CommandTest(cmd="echo aaaa")], after=[CommandTest(cmd="echo d")], output_bytes=10)
    ended = outcome.ended
    assert (outcome.lines, ended.lines, ended.cut_bytes) == (["aaaa", "bbbb"], 2, 7)


def test_inputs_are_variables_and_never_part_of_the_command(stage: Stage) -> None:
    inputs = '{"word": "a b; touch /x", "number": 3, "list": [1, "two"], "none": null}'
    work = ShellWork(
        'printf "%s|" "$PT_word" "$PT_number" "$PT_list" "$PT_none" "$OWN" "$PRECAST_ORDER"; pwd',
        directory="/etc",
        environment={"OWN": "mine"},
    )
    outcome = stage.run(work, inputs=inputs)
    assert outcome.lines == [f'a b; touch /x|3|[1,"two"]|null|mine|o1|{stage.root}/etc']


def test_input_that_is_too_large_for_a_variable_is_named(stage: Stage) -> None:
    ended = stage.run(ShellWork("true"), inputs=f'{{"small": 1, "large": "{"x" * 131_072}"}}', retries=3).ended
    reason = "it has more in its variables than this system allows: PT_large has 131072 bytes"
    assert (ended.is_success, ended.message) == (False, reason)


def test_command_that_cannot_be_started_fails_with_the_reason(stage: Stage) -> None:
    ended = stage.run(ShellWork("true", directory="/none")).ended
    assert (ended.is_success, ended.message) == (False, f"{stage.root}/none cannot be run: No such file or directory")


def test_task_that_only_tests_needs_no_work(stage: Stage) -> None:
    outcome = stage.run(NoWork(), before=[FileTest(path="/etc")], is_signed=False)
    assert (outcome.ended.is_success, outcome.ended.phase) == (True, "task")
    assert outcome.phases == [("pre-test", "1 test"), ("task", "nothing but tests")]


@pytest.mark.parametrize("kind", [NOT_RUN, TASK_ENDED])
def test_task_is_answered_once(stage: Stage, kind: str) -> None:
    stage.grant(TaskProgram("t", NoWork()), node="web1" if kind == TASK_ENDED else "web2")
    stage.carry_out()
    stage.carry_out()
    stage.recover()
    outcome = stage.outcome()
    assert [name for name, _ in outcome._records if name in (NOT_RUN, TASK_ENDED)] == [kind]


def test_output_beyond_its_bound_that_no_server_takes_is_refused_whole_and_the_task_succeeds(stage: Stage) -> None:
    outcome = stage.run(ShellWork("seq 100"), output_bytes=10)
    whole = outcome.ended.whole
    assert outcome.ended.is_success
    assert whole is not None
    assert (whole.size, whole.digest) == (292, "")
    assert "AGENT-063" in whole.error


def test_output_of_which_an_earlier_process_has_printed_a_part_is_not_offered_as_whole(
    stage: Stage, tmp_path: Path
) -> None:
    test = CommandTest(cmd=f"echo line; touch {tmp_path}/on; test -e {tmp_path}/second || sleep 600")
    stage.grant(TaskProgram("t", NoWork(), before=[test]), output_bytes=8)
    process = stage.start()
    wait_for(lambda: stage.outcome().lines)
    kill(stage, process)
    (tmp_path / "second").touch()
    stage.recover()
    stage.claim_and_grant()
    stage.carry_out()
    whole = stage.outcome().ended.whole
    assert whole is not None
    assert (whole.size, whole.digest) == (10, "")
    assert "an earlier process" in whole.error
