"""Orders carried out by a real daemon and its real processes; the server is made up and grants every claim."""

import asyncio
import json
import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from lab.agent_process import AgentProcess
from lab.ordering_server import OrderingServer
from lab.processes import is_alive
from lab.scripted_server import ScriptedServer
from precast.agent.orders.run_orders import ABORTED
from precast.wire.jobs.orders import (
    ABORT,
    EXEC,
    EXEC_BEGAN,
    EXEC_ENDED,
    EXEC_OUTPUT,
    NOT_RUN,
    ORDER_ENDED,
    REBOOT,
    REFRESH_FACTS,
    RESTART_AGENT,
    RUN,
    Abort,
    ExecBegan,
    ExecEnded,
    ExecOrder,
    ExecOutput,
    NotRun,
    OrderEnded,
    PlainOrder,
    RunOrder,
)
from precast.wire.reports.records import ENDED, RunEnded
from precast.wire.sessions import FACTS

pytestmark = pytest.mark.timeout(300)


def file(path: str) -> dict[str, object]:
    return {"type": "File", "title": path, "parameters": {"content": "hello\n"}}


class Stage:
    """A node with a running daemon, and the server that orders."""

    def __init__(self, root: Path, scripted: ScriptedServer) -> None:
        self.root = root
        self.scripted = scripted
        self.server = OrderingServer()
        self.agent = AgentProcess(root, scripted.url, "--apply-interval", "0s", "--facts-interval", "7d")

    def configure(self, text: str) -> None:
        (self.root / "etc/precast").mkdir(parents=True, exist_ok=True)
        (self.root / "etc/precast/agent.toml").write_text(text)

    def release(self, resources: list[dict[str, object]]) -> None:
        self.scripted.release(self.root, json.dumps({"resources": resources}).encode(), "web1")

    async def order(self, kind: str, order: str) -> None:
        await self.server.post(kind, PlainOrder(order, datetime.now(UTC) + timedelta(minutes=10)))

    async def order_run(self, order: str) -> None:
        await self.server.post(RUN, RunOrder(order, "enforce", datetime.now(UTC) + timedelta(minutes=10)))

    async def order_command(self, order: str, script: str) -> None:
        now = datetime.now(UTC)
        argv = ["/bin/sh", "-c", script]
        body = ExecOrder("web1", order, argv, now, now + timedelta(minutes=10), 120.0, 10_000)
        await self.server.post(EXEC, self.scripted.sign_exec(body))

    def not_run(self) -> list[tuple[str, str]]:
        return [(answer.order, answer.reason) for answer in self.server.sent(NOT_RUN, NotRun)]

    def ended(self) -> list[tuple[str, bool]]:
        return [(answer.order, answer.is_success) for answer in self.server.sent(ORDER_ENDED, OrderEnded)]

    def reports(self) -> list[RunEnded]:
        return self.server.sent(ENDED, RunEnded)


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


async def test_commands_and_runs_never_take_place_at_the_same_time(stage: Stage) -> None:
    """The server grants all of them at once."""
    (stage.root / "srv").mkdir()
    stage.release([file(f"/srv/f{number}") for number in range(50)])
    for number in range(2):
        await stage.order_command(f"c{number}", "sleep 0.5")
        await stage.order_run(f"r{number}")
    await stage.server.until(lambda: len(stage.server.sent(EXEC_ENDED, ExecEnded)) == 2)
    await stage.server.until(lambda: len(stage.reports()) == 2)
    begun = {began.order: began.at for began in stage.server.sent(EXEC_BEGAN, ExecBegan)}
    spans = [(begun[ended.order], ended.at, ended.order) for ended in stage.server.sent(EXEC_ENDED, ExecEnded)]
    spans += [(report.began.began_at, report.ended_at, report.began.order) for report in stage.reports()]
    assert sorted(order for _, _, order in spans) == ["c0", "c1", "r0", "r1"]
    for (_, ended_at, _), (began_at, _, _) in pairwise(sorted(spans)):
        assert ended_at <= began_at
    assert stage.not_run() == []


async def test_aborted_command_is_ended_with_its_children_and_answered(stage: Stage) -> None:
    pids = stage.root / "pids"
    script = f"trap '' TERM; sleep 600 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; echo on; wait; sleep 600"
    await stage.order_command("c1", script)
    await stage.server.until(lambda: stage.server.sent(EXEC_OUTPUT, ExecOutput))
    await stage.order_command("c2", "echo through")
    await stage.server.post(ABORT, Abort("c1"))
    await stage.server.until(lambda: stage.server.sent(EXEC_ENDED, ExecEnded))
    assert stage.not_run() == [("c1", "aborted")]
    assert [(ended.order, ended.code) for ended in stage.server.sent(EXEC_ENDED, ExecEnded)] == [("c2", 0)]
    assert not any(is_alive(int(pid)) for pid in pids.read_text().split())


async def test_aborted_run_stops_after_the_current_resource_and_reports(stage: Stage) -> None:
    stage.release([file(f"/srv/f{number}") for number in range(3000)])
    (stage.root / "srv").mkdir()
    await stage.order_run("r1")
    await stage.server.until((stage.root / "srv/f0").exists)
    run = _working_process(stage.root)
    await _pause_outside_a_transaction(stage.root, run)  # so that the abort comes before its end
    await stage.server.post(ABORT, Abort("r1"))
    await stage.server.until(lambda: "abort of the order r1" in stage.agent.log)
    os.kill(run, signal.SIGCONT)
    await stage.server.until(stage.reports)
    (report,) = stage.reports()
    assert report.summary is not None
    assert (report.how, report.summary.is_complete, report.why) == ("broken-off", False, ABORTED)
    assert stage.not_run() == [("r1", "aborted")]
    assert not (stage.root / "srv/f2999").exists()


async def test_facts_are_sent_before_the_order_is_answered(stage: Stage) -> None:
    await stage.order(REFRESH_FACTS, "f1")
    await stage.server.until(stage.ended)
    assert stage.ended() == [("f1", True)]
    kinds = [record.kind for record in stage.server.taken]
    assert FACTS in kinds[: kinds.index(ORDER_ENDED)]
    (answer,) = stage.server.sent(ORDER_ENDED, OrderEnded)
    assert json.loads(answer.result)["facts"] > 0


async def test_restarted_agent_is_the_same_process_and_answers(stage: Stage) -> None:
    before = (await asyncio.to_thread(stage.agent.until_connected))["daemon"]
    await stage.order(RESTART_AGENT, "a1")
    await stage.server.until(stage.ended)
    after = (await asyncio.to_thread(stage.agent.until_connected))["daemon"]
    assert stage.ended() == [("a1", True)]
    assert after["pid"] == before["pid"]
    assert after["started_at"] > before["started_at"]
    assert await asyncio.to_thread(stage.agent.stop) == 0


async def test_reboot_is_refused_where_commands_are_not_allowed_or_the_machine_is_a_root(stage: Stage) -> None:
    await stage.order(REBOOT, "b1")
    await stage.server.until(stage.not_run)
    stage.configure("allow_exec = false\n")
    await stage.order(REBOOT, "b2")
    await stage.server.until(lambda: len(stage.not_run()) == 2)
    assert stage.not_run() == [("b1", "refused"), ("b2", "refused")]
    first, second = stage.server.sent(NOT_RUN, NotRun)
    assert "reboot_command" in first.message
    assert "allow_exec" in second.message


async def test_reboot_is_requested_once_and_answered_after_another_boot(stage: Stage) -> None:
    asked = stage.root / "asked"
    stage.configure(f'allow_exec = true\nreboot_command = ["/bin/sh", "-c", "echo x >> {asked}"]\n')
    await stage.order(REBOOT, "b1")
    await stage.server.until(asked.exists)
    # The machine goes down: everything is killed. The next boot has another id.
    stage.agent.kill()
    os.kill(_working_process(stage.root), signal.SIGKILL)
    _set_boot_id(stage.root, "b1", "an earlier boot")
    stage.agent.start()
    await stage.server.until(stage.ended)
    assert (stage.ended(), stage.not_run(), asked.read_text()) == ([("b1", True)], [], "x\n")


async def test_reboot_command_that_fails_is_answered(stage: Stage) -> None:
    stage.configure('allow_exec = true\nreboot_command = ["/bin/false"]\n')
    await stage.order(REBOOT, "b1")
    await stage.server.until(stage.ended)
    assert stage.ended() == [("b1", False)]


def _working_process(root: Path) -> int:
    """The pid of the process that works under the lease."""
    with closing(sqlite3.connect(root / "var/lib/precast/agent/state.db", timeout=30)) as store:
        ((note,),) = store.execute("SELECT value FROM note WHERE name = 'RunProcess'").fetchall()
    return int(json.loads(note)["pid"])


async def _pause_outside_a_transaction(root: Path, pid: int) -> None:
    """Stop a process at a moment at which it does not lock the state of the agent, which the daemon has to write."""
    with closing(sqlite3.connect(root / "var/lib/precast/agent/state.db", timeout=0)) as store:
        while True:
            os.kill(pid, signal.SIGSTOP)
            while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
                await asyncio.sleep(0)
            try:
                store.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                os.kill(pid, signal.SIGCONT)
                await asyncio.sleep(0)
            else:
                store.rollback()
                return


def _set_boot_id(root: Path, order: str, boot_id: str) -> None:
    with closing(sqlite3.connect(root / "var/lib/precast/agent/state.db", timeout=30)) as store, store:
        store.execute("UPDATE queued_order SET boot_id = ? WHERE id = ?", (boot_id, order))
