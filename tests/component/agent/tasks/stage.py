"""An enrolled node whose tasks are carried out by their real process; the daemon and its server are made up."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from lab.scripted_server import ScriptedServer
from lab.server_process import PRECAST
from precast.agent.orders.registry import OrderRegistry
from precast.agent.state.spool import Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.wire.jobs.orders import (
    ABORT,
    EXEC_OUTPUT,
    GRANT,
    NOT_RUN,
    TASK,
    TASK_ENDED,
    TASK_PHASE,
    Abort,
    ExecOutput,
    Grant,
    NotRun,
    TaskEnded,
    TaskOrder,
    TaskPhase,
)
from precast.wire.jobs.programs import AnyWork, TaskProgram, program_text
from tests.unit.agent.state.records import record

NAME, ORDER = "web1", "o1"
DEADLINE_S = 60.0

K = TypeVar("K", bound=msgspec.Struct)


class Stage:
    """One node. Its settings allow commands, and its policy lets ordered runs enforce, until a test says otherwise."""

    def __init__(self, server: ScriptedServer, root: Path) -> None:
        self.server, self.root = server, root
        self._processes: list[subprocess.Popen[str]] = []
        self.server.permit(root, NAME)
        self.configure(allow_exec="true")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.communicate(timeout=DEADLINE_S)

    def configure(self, **values: str) -> None:
        """Write the settings; each value as it is written in TOML."""
        path = self.root / "etc/precast/agent.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{name} = {value}\n" for name, value in values.items()))

    @contextmanager
    def registry(self) -> Iterator[OrderRegistry]:
        store = LocalStore.open(self.root, lambda: "instance")
        try:
            yield OrderRegistry(store, Spool(store, SpoolLimits()))
        finally:
            store.close()

    def grant(self, program: TaskProgram, *, is_signed: bool = True, **changes: Any) -> None:
        """Order a task, claim it, and grant the claim."""
        now = datetime.now(UTC)
        order = TaskOrder(NAME, ORDER, program_text(program), now, now + timedelta(minutes=5), DEADLINE_S, 100_000)
        signed = self.server.sign_task(msgspec.structs.replace(order, **changes), is_signed=is_signed)
        # The order that was granted, also where its text is that of another one.
        self._receive(TASK, msgspec.structs.replace(signed, order=ORDER))
        self.claim_and_grant()

    def claim_and_grant(self) -> None:
        with self.registry() as registry:
            assert registry.claims.claim_waiting()
            ((claim,),) = LocalStore.read(registry.claims._store, "SELECT claim FROM queued_order")
        self._receive(GRANT, Grant(ORDER, claim, "instance", is_granted=True))

    def abort(self) -> None:
        self._receive(ABORT, Abort(ORDER, "a test"))

    def _receive(self, kind: str, body: msgspec.Struct) -> None:
        with self.registry() as registry:
            number = registry.claims._store.session_state().received + 1
            assert registry.receive(record(number, kind, body)) is not None

    def start(self) -> "subprocess.Popen[str]":
        """Start the process of the task."""
        argv = [PRECAST, "agent", "task", "--root", str(self.root), "--order", ORDER]
        process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self._processes.append(process)
        return process

    def carry_out(self) -> str:
        """Run the process of the task to its end. Returns what it has printed on standard error."""
        process = self.start()
        _, errors = process.communicate(timeout=DEADLINE_S)
        return errors

    def run(self, work: AnyWork, **options: Any) -> "Outcome":
        """Carry a task out, with this work and the fields of `TaskProgram` and `TaskOrder` that are given."""
        fields = {name: options.pop(name) for name in ("before", "after", "retries", "interval_s") if name in options}
        self.grant(TaskProgram("t", work, **fields), **options)
        self.carry_out()
        return self.outcome()

    def recover(self) -> None:
        """What the daemon does when the process of a task has ended."""
        with self.registry() as registry:
            registry.claims.requeue()
            registry.resolve_begun()

    def outcome(self) -> "Outcome":
        with self.registry() as registry:
            store = registry.claims._store
            rows = store.read("SELECT kind, body FROM record ORDER BY id")
            ((state,),) = store.read("SELECT state FROM queued_order WHERE id = ?", (ORDER,))
        return Outcome([(kind, bytes(body)) for kind, body in rows], state)


class Outcome:
    """What the node has answered."""

    def __init__(self, records: list[tuple[str, bytes]], state: str) -> None:
        self._records, self.state = records, state

    def sent(self, kind: str, message: type[K]) -> list[K]:
        return [msgspec.json.decode(body, type=message) for name, body in self._records if name == kind]

    @property
    def ended(self) -> TaskEnded:
        (ended,) = self.sent(TASK_ENDED, TaskEnded)
        return ended

    @property
    def not_run(self) -> tuple[str, str]:
        (answer,) = self.sent(NOT_RUN, NotRun)
        return answer.reason, answer.message

    @property
    def phases(self) -> list[tuple[str, str]]:
        return [(phase.phase, phase.message) for phase in self.sent(TASK_PHASE, TaskPhase)]

    @property
    def lines(self) -> list[str]:
        """The lines of output; their numbers have no gaps."""
        lines: list[str] = []
        for output in self.sent(EXEC_OUTPUT, ExecOutput):
            assert output.first == len(lines)
            lines += [line.text for line in output.lines]
        return lines

    @property
    def order(self) -> list[str]:
        """The kinds of phases, output and end, in their order."""
        return [kind for kind, _ in self._records if kind in (TASK_PHASE, EXEC_OUTPUT, TASK_ENDED)]


def wait_for(is_so: Callable[[], Any]) -> None:
    """Wait until something is so that a process does."""
    until_s = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < until_s, "it did not happen"
        time.sleep(0.02)
