"""What nodes send over their sessions about orders: those they did not follow, and what commands do and say."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from precast.api.messages import Messages
from precast.api.routes import NODE
from precast.services.runs.results import StepResults
from precast.services.sessions import RecordKind
from precast.store.query import Unit
from precast.wire import runs
from precast.wire.runs import ExecBegan, ExecEnded, ExecOutput, NotRun
from precast.wire.session import Want

T = TypeVar("T", bound=msgspec.Struct)


def add_run_records(messages: Messages, results: StepResults) -> None:
    """Have the steps of runs follow what nodes say."""

    def add(name: str, body: type[T], taking: Callable[[str, T], Unit[None]]) -> None:
        def take(came: Sequence[tuple[str, T]]) -> Unit[Sequence[Want | None]]:
            for node, said in came:
                yield from taking(node, said)
            return [None] * len(came)

        messages.add(name, NODE, RecordKind(body, lambda node, said: said, take))

    add(runs.NOT_RUN, NotRun, results.refusing)
    add(runs.EXEC_BEGAN, ExecBegan, results.command_beginning)
    add(runs.EXEC_OUTPUT, ExecOutput, results.command_saying)
    add(runs.EXEC_ENDED, ExecEnded, results.command_ending)
