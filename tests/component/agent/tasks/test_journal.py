"""What a task writes into the local store when that is not possible."""

from typing import Any

import pytest

from precast.agent import issues
from precast.agent.orders.task_orders import TaskOrders
from precast.agent.settings import AgentSettings
from precast.agent.tasks.journal import TaskJournal
from precast.wire.jobs.orders import OutputLine, TaskEnded
from precast.wire.jobs.programs import ShellWork, TaskProgram
from tests.component.agent.tasks.stage import ORDER, Stage


def test_output_that_cannot_be_stored_is_dropped_and_the_task_goes_on(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.grant(TaskProgram("t", ShellWork("true")))
    journal = TaskJournal(stage.root, AgentSettings(), None, ORDER)
    journal.begin(1_000)
    journal.enter_phase("task", "shell: true")
    journal.add([OutputLine("out", "stored")])
    journal.flush()

    def fail(*_: Any) -> None:
        raise issues.NO_STORE.error(path="state.db", reason="database or disk is full")

    with monkeypatch.context() as full:
        full.setattr(TaskOrders, "send_output", fail)
        journal.add([OutputLine("out", "lost"), OutputLine("err", "too")])
        journal.flush()
    journal.add([OutputLine("out", "after")])
    journal.end(TaskEnded(ORDER, journal.store.clock.now(), True, "task"), is_stopped=False)
    journal.close()
    outcome = stage.outcome()
    assert outcome.lines == ["stored"]
    assert (outcome.ended.is_success, outcome.ended.lines, outcome.ended.cut_bytes) == (True, 1, len("lost too after "))
