"""Tasks that reboot the machine: requested once, and continued in the next boot."""

import signal
from pathlib import Path

import msgspec

from precast.agent.orders.task_orders import RequestedReboot, TaskOrders
from precast.wire.jobs.programs import CommandTest, RebootWork, TaskProgram
from tests.component.agent.tasks.stage import ORDER, Stage, wait_for


def allow_reboot(stage: Stage, script: str) -> None:
    stage.configure(allow_exec="true", reboot_command=f'["/bin/sh", "-c", "{script}"]')


def request(stage: Stage, asked: Path, end: signal.Signals, program: TaskProgram) -> None:
    """Let the task request a reboot; then the machine ends its process."""
    allow_reboot(stage, f"echo x >> {asked}")
    stage.grant(program)
    process = stage.start()
    wait_for(asked.exists)
    process.send_signal(end)
    process.communicate(timeout=60)
    stage.recover()
    assert stage.outcome().state == "begun", "the machine goes down at any moment"


def boot(stage: Stage) -> None:
    """The requested reboot becomes that of an earlier boot, and the daemon starts."""
    with stage.registry() as registry:
        orders = registry.find(TaskOrders)
        progress = orders.read_progress(ORDER)
        assert progress is not None
        assert progress.reboot is not None
        earlier = RequestedReboot("an earlier boot", progress.reboot.at_s)
        orders.write_progress(ORDER, msgspec.structs.replace(progress, boot_id="an earlier boot", reboot=earlier))
    stage.recover()
    stage.claim_and_grant()


def test_task_is_continued_with_its_post_tests_after_the_reboot(stage: Stage, tmp_path: Path) -> None:
    program = TaskProgram(
        "t", RebootWork(), before=[CommandTest(cmd="echo before")], after=[CommandTest(cmd="echo after")]
    )
    request(stage, tmp_path / "asked", signal.SIGTERM, program)
    boot(stage)
    stage.carry_out()
    outcome = stage.outcome()
    assert outcome.phases == [("pre-test", "1 test"), ("task", "reboot"), ("post-test", "1 test")]
    assert outcome.lines == ["before", "after"]
    assert (outcome.ended.is_success, outcome.ended.phase, outcome.ended.lines) == (True, "post-test", 2)
    assert (tmp_path / "asked").read_text() == "x\n"


def test_task_without_post_tests_has_succeeded_after_the_reboot(stage: Stage, tmp_path: Path) -> None:
    request(stage, tmp_path / "asked", signal.SIGKILL, TaskProgram("t", RebootWork()))
    boot(stage)
    stage.carry_out()
    assert (stage.outcome().ended.is_success, stage.outcome().ended.phase) == (True, "task")
    assert (tmp_path / "asked").read_text() == "x\n"


def test_failed_post_test_after_the_reboot_fails_the_task(stage: Stage, tmp_path: Path) -> None:
    program = TaskProgram("t", RebootWork(), after=[CommandTest(cmd="exit 5")])
    request(stage, tmp_path / "asked", signal.SIGKILL, program)
    boot(stage)
    stage.carry_out()
    ended = stage.outcome().ended
    assert (ended.is_success, ended.phase, ended.code) == (False, "post-test", 5)


def test_reboot_command_that_fails_fails_the_task(stage: Stage) -> None:
    allow_reboot(stage, "echo no >&2; exit 3")
    ended = stage.run(RebootWork(), after=[CommandTest(cmd="true")]).ended
    assert (ended.is_success, ended.phase, ended.message) == (False, "task", "/bin/sh ended with 3: no")


def test_machine_that_does_not_go_down_before_the_deadline_fails_the_task(stage: Stage) -> None:
    allow_reboot(stage, "true")
    ended = stage.run(RebootWork(), timeout_s=2.0).ended
    assert (ended.is_success, ended.phase, ended.is_overdue) == (False, "task", True)
    assert "the machine did not reboot" in ended.message


def test_failed_pre_test_prevents_the_reboot(stage: Stage, tmp_path: Path) -> None:
    allow_reboot(stage, f"echo x >> {tmp_path}/asked")
    ended = stage.run(RebootWork(), before=[CommandTest(cmd="false")]).ended
    assert (ended.is_success, ended.phase, (tmp_path / "asked").exists()) == (False, "pre-test", False)


def test_node_that_does_not_know_how_to_reboot_refuses_the_task(stage: Stage) -> None:
    reason, message = stage.run(RebootWork()).not_run
    assert (reason, "set reboot_command" in message) == ("refused", True)
