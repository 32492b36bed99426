"""What nodes send over their sessions about orders: those they did not follow, and what commands do and say."""

from collections.abc import Sequence

from precast.api.http.routes import NODE
from precast.api.sessions.messages import Messages
from precast.services.jobs.results import Answer, StepResults
from precast.services.sessions.sessions import RecordKind
from precast.store.engine.query import Transaction
from precast.wire.jobs import orders as runs
from precast.wire.jobs.orders import ExecBegan, ExecEnded, ExecOutput, NotRun
from precast.wire.sessions import Want


def add_run_records(messages: Messages, results: StepResults) -> None:
    """Have the steps of runs follow what nodes say. All of it is taken together: what a command said counts only before its end. And
    after reports: a run that is given up has told what it did."""

    def take(came: Sequence[tuple[str, Answer]]) -> Transaction[Sequence[Want | None]]:
        for node, said in came:
            yield from results.hearing(node, said)
        return [None] * len(came)

    bodies: dict[str, type[Answer]] = {
        runs.NOT_RUN: NotRun,
        runs.EXEC_BEGAN: ExecBegan,
        runs.EXEC_OUTPUT: ExecOutput,
        runs.EXEC_ENDED: ExecEnded,
    }
    for name, body in bodies.items():
        messages.add(name, NODE, RecordKind(body, lambda node, said: said, take, rank=1))
