"""Tasks carried out by a real daemon and its real processes; the server is made up and grants every claim."""

import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from lab.agent_process import AgentProcess
from lab.ordering_server import OrderingServer
from lab.processes import is_alive
from lab.scripted_server import ScriptedServer
from precast.agent.chores.run_process import RunProcess
from precast.agent.orders.task_orders import RequestedReboot, TaskProgress
from precast.wire.jobs.orders import (
    ABORT,
    EXEC_OUTPUT,
    NOT_RUN,
    TASK,
    TASK_ENDED,
    TASK_PHASE,
    Abort,
    ExecOutput,
    NotRun,
    TaskEnded,
    TaskOrder,
    TaskPhase,
)
from precast.wire.jobs.programs import AnyWork, CommandTest, RebootWork, ShellWork, TaskProgram, program_text

pytestmark = pytest.mark.timeout(300)


class Stage:
    """A node with a running daemon, and the server that orders."""

    def __init__(self, root: Path, scripted: ScriptedServer) -> None:
        self.root, self.scripted = root, scripted
        self.server = OrderingServer()
        self.agent = AgentProcess(root, scripted.url, "--apply-interval", "0s", "--facts-interval", "7d")

    def configure(self, text: str) -> None:
        (self.root / "etc/precast").mkdir(parents=True, exist_ok=True)
        (self.root / "etc/precast/agent.toml").write_text(text)

    async def order(self, order: str, work: AnyWork, *after: CommandTest) -> None:
        now = datetime.now(UTC)
        program = program_text(TaskProgram("t", work, after=list(after)))
        body = TaskOrder("web1", order, program, now, now + timedelta(minutes=10), 120.0, 10_000)
        await self.server.post(TASK, self.scripted.sign_task(body))

    def ended(self) -> list[TaskEnded]:
        return self.server.sent(TASK_ENDED, TaskEnded)

    def lines(self) -> list[str]:
        return [line.text for output in self.server.sent(EXEC_OUTPUT, ExecOutput) for line in output.lines]

    def phases(self) -> list[str]:
        return [phase.phase for phase in self.server.sent(TASK_PHASE, TaskPhase)]

    def not_run(self) -> list[tuple[str, str]]:
        return [(answer.order, answer.reason) for answer in self.server.sent(NOT_RUN, NotRun)]

    def read(self, sql: str) -> bytes:
        with closing(sqlite3.connect(self.root / "var/lib/precast/agent/state.db", timeout=30)) as store:
            ((value,),) = store.execute(sql).fetchall()
        return bytes(value)

    def working_process(self) -> int:
        """The pid of the process that works under the lease."""
        return msgspec.json.decode(self.read("SELECT value FROM note WHERE name = 'RunProcess'"), type=RunProcess).pid

    def boot(self) -> None:
        """Let the boot in which the task has begun be an earlier one."""
        progress = msgspec.json.decode(self.read("SELECT progress FROM queued_order"), type=TaskProgress)
        assert progress.reboot is not None
        earlier = RequestedReboot("earlier", progress.reboot.at_s)
        changed = msgspec.json.encode(msgspec.structs.replace(progress, boot_id="earlier", reboot=earlier))
        with closing(sqlite3.connect(self.root / "var/lib/precast/agent/state.db", timeout=30)) as store, store:
            store.execute("UPDATE queued_order SET progress = ?", (changed,))


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    root = tmp_path / "node"
    async with ScriptedServer(tmp_path / "server") as scripted:
        scripted.enrol(root, "web1")
        scripted.permit(root, "web1")
        (root / "etc").mkdir()
        made = Stage(root, scripted)
        made.configure("allow_exec = true\n")
        async with made.server.serving(scripted):
            with made.agent:
                yield made


async def test_tasks_are_carried_out_one_after_the_other_with_their_phases(stage: Stage) -> None:
    for order in ("t1", "t2"):
        await stage.order(order, ShellWork(f"echo {order}; sleep 0.2"), CommandTest(cmd=f"echo tested {order}"))
    await stage.server.until(lambda: len(stage.ended()) == 2)
    assert [(ended.order, ended.is_success) for ended in stage.ended()] == [("t1", True), ("t2", True)]
    assert stage.lines() == ["t1", "tested t1", "t2", "tested t2"]
    assert stage.phases() == ["task", "post-test"] * 2
    assert stage.not_run() == []


async def test_aborted_task_is_ended_with_everything_it_has_started_and_the_next_one_begins(stage: Stage) -> None:
    pids = stage.root / "pids"
    script = (
        f"trap '' TERM; setsid sleep 600 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; echo on; sleep 600; sleep 600"
    )
    await stage.order("t1", ShellWork(script))
    await stage.server.until(stage.lines)
    await stage.order("t2", ShellWork("echo through"))
    await stage.server.post(ABORT, Abort("t1"))
    await stage.server.until(stage.ended)
    assert (stage.not_run(), [ended.order for ended in stage.ended()]) == ([("t1", "aborted")], ["t2"])
    assert not any(is_alive(int(pid)) for pid in pids.read_text().split())


async def test_task_goes_on_without_the_daemon_and_answers_to_the_next_one(stage: Stage) -> None:
    go = stage.root / "go"
    await stage.order("t1", ShellWork(f"echo on; until test -e {go}; do sleep 0.05; done; echo off"))
    await stage.server.until(stage.lines)
    stage.agent.kill()
    go.touch()
    stage.agent.start()
    await stage.server.until(stage.ended)
    assert (stage.lines(), stage.not_run()) == (["on", "off"], [])


async def test_task_whose_process_is_killed_is_answered_in_its_phase(stage: Stage) -> None:
    await stage.order("t1", ShellWork("true"), CommandTest(cmd="echo on; sleep 600"))
    await stage.server.until(stage.lines)
    os.kill(stage.working_process(), signal.SIGKILL)
    await stage.server.until(stage.not_run)
    (answer,) = stage.server.sent(NOT_RUN, NotRun)
    assert (answer.reason, "in its phase post-test" in answer.message) == ("interrupted", True)


async def test_task_is_continued_after_the_reboot_that_it_has_requested(stage: Stage) -> None:
    asked = stage.root / "asked"
    stage.configure(f'allow_exec = true\nreboot_command = ["/bin/sh", "-c", "echo x >> {asked}"]\n')
    await stage.order("t1", RebootWork(), CommandTest(cmd="echo after"))
    await stage.server.until(asked.exists)
    # The machine goes down: everything is killed. The next boot has another id.
    stage.agent.kill()
    os.kill(stage.working_process(), signal.SIGKILL)
    stage.boot()
    stage.agent.start()
    await stage.server.until(stage.ended)
    assert (stage.phases(), stage.lines(), asked.read_text()) == (["task", "post-test"], ["after"], "x\n")
    assert [(ended.is_success, ended.phase) for ended in stage.ended()] == [(True, "post-test")]
    assert len(stage.server.grants) > 1, "it was claimed again"


async def test_task_with_commands_is_refused_where_they_are_not_allowed(stage: Stage) -> None:
    stage.configure("allow_exec = false\n")
    await stage.order("t1", ShellWork("true"))
    await stage.server.until(stage.not_run)
    assert stage.not_run() == [("t1", "refused")]
