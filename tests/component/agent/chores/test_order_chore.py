"""The chore that carries out orders, with real processes that run a script of the test, real leases, and claims that the test grants."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from lab.processes import is_alive
from precast.agent.applying.lease import lease_held
from precast.agent.catalog.cached_catalog import catalog_path
from precast.agent.chores import apply as apply_chore
from precast.agent.chores import orders as order_chore
from precast.agent.chores import run_process
from precast.agent.chores.apply import ApplyChore
from precast.agent.chores.child_processes import ChildProcesses, watch_by_descriptor
from precast.agent.chores.leased_processes import LeasedProcesses
from precast.agent.chores.orders import OrderChore
from precast.agent.settings import AgentSettings
from precast.base.clock import ManualClock
from precast.wire.jobs.orders import EXEC, NOT_RUN, ORDER_ENDED, RESTART_AGENT, RUN, NotRun, OrderEnded
from tests.component.agent.chores.test_chores import DEADLINE_S, running
from tests.component.agent.orders.node import Node

# A run or a command: it takes the lease, begins its order, notes that, works until a file exists or SIGTERM comes, and ends.
WORK = """
import signal, sqlite3, sys, time
from pathlib import Path
from precast.agent.applying.lease import lease_held
from precast.agent.orders.exec_orders import ExecOrders
from precast.agent.orders.run_orders import RunOrders
from precast.agent.state.spool import SpoolLimits, Spool
from precast.agent.state.store import LocalStore
from precast.wire.jobs.orders import ExecEnded

root, stopped = Path({root!r}), []
signal.signal(signal.SIGTERM, signal.SIG_IGN if {is_deaf} else lambda *_: stopped.append(1))
arguments = sys.argv[1:-2]
order = arguments[arguments.index("--order") + 1] if "--order" in arguments else ""
store = LocalStore.open(root, lambda: "x")
spool = Spool(store, SpoolLimits())


def note(what):
    with open(root / "calls", "a") as calls:
        calls.write(f"{{what}} {{order or 'local'}}\\n")


note(" ".join(arguments))
with lease_held(store, "a process of the test", 30):
    orders = ExecOrders(store, spool) if arguments[1] == "exec" else RunOrders(store, spool)
    if order:
        orders.begin(order)
    note("begun")
    while not (root / f"end-{{order}}").exists() and not stopped:
        time.sleep(0.01)
    note("ended")
    if order and arguments[1] == "exec":
        orders.end(ExecEnded(order, store.clock.now(), code=0), is_stopped=bool(stopped))
    elif order:
        with store.transaction() as db:
            orders.end(db, order, is_complete=not stopped)
"""


class WatchedProcesses(ChildProcesses):
    """Remembers the processes, so that none is left after a test."""

    def __init__(self, script: Path, root: Path) -> None:
        super().__init__([sys.executable, str(script)], ["--root", str(root)], {})
        self._started: list[asyncio.subprocess.Process] = []

    async def start(self, *arguments: str) -> asyncio.subprocess.Process | None:
        process = await super().start(*arguments)
        assert process is not None
        self._started.append(process)
        return process

    async def end(self) -> None:
        for process in self._started:
            if process.returncode is None:
                run_process.kill_group(process.pid)
            await process.wait()


class Stage(Node):
    """A node with its chores; its `precast` is a script of the test."""

    def __init__(self, root: Path, clock: ManualClock) -> None:
        super().__init__(root, clock)
        self.script = root / "precast"
        self.refreshed: list[timedelta] = []
        self.restarts: list[str] = []
        self.has_claimed = asyncio.Event()
        self.may_refresh = asyncio.Event()
        self.may_refresh.set()
        self.children = WatchedProcesses(self.script, root)
        self.work()

    def work(self, *, is_deaf: bool = False) -> None:
        self.script.write_text(WORK.format(root=str(self.root), is_deaf=is_deaf))

    def fail(self, code: int) -> None:
        """Let processes end before they begin."""
        calls = str(self.root / "calls")
        self.script.write_text(f"import sys; open({calls!r}, 'a').write('failed\\n'); sys.exit({code})\n")

    def let_end(self, order: str = "") -> None:
        (self.root / f"end-{order}").touch()

    @property
    def called(self) -> list[str]:
        calls = self.root / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def happened(self) -> list[str]:
        return [call for call in self.called if call.startswith(("begun", "ended"))]

    def chores(self) -> tuple[OrderChore, ApplyChore]:
        """The chores of a daemon."""
        processes = LeasedProcesses(self.children, self.store, self.root, lambda: orders.wake())
        settings = AgentSettings(apply_interval=timedelta(hours=1), splay=timedelta(0))
        apply = ApplyChore(self.store, self.claims, processes, settings, self._refresh)
        orders = OrderChore(
            self.store,
            self.spool,
            self.registry,
            processes,
            self.has_claimed.set,
            self._refresh,
            lambda: self.restarts.append("now"),
        )
        return orders, apply

    def carrying_out(self) -> "AbstractAsyncContextManager[None]":
        self.chore, _ = self.chores()
        return running(self.chore.run())

    async def _refresh(self, max_age: timedelta) -> None:
        self.refreshed.append(max_age)
        await self.may_refresh.wait()

    async def grant_when_claimed(self, order: str, number: int = 1) -> None:
        await self.until(lambda: (order, number) in self.claimed())
        assert self.grant(order, number)
        self.chore.wake()

    async def until_happened(self, *events: str) -> None:
        await self.until(lambda: self.happened() == list(events))

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not is_so():
                await asyncio.sleep(0.01)


@pytest.fixture
def watched() -> Iterator[None]:
    """Children are watched as the daemon does it. This must be so before the event loop begins."""
    watch_by_descriptor()
    yield
    if sys.version_info < (3, 12):
        asyncio.set_child_watcher(asyncio.ThreadedChildWatcher())


@pytest.fixture
async def stage(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, watched: None
) -> AsyncIterator[Stage]:
    monkeypatch.setattr(apply_chore, "RETRY_START_S", 0.02)
    monkeypatch.setattr(order_chore, "RETRY_S", 0.02)
    monkeypatch.setattr(order_chore, "CHECK_S", 0.02)
    made = Stage(tmp_path, clock)
    yield made
    await made.children.end()
    made.close()


async def test_nothing_begins_before_its_claim_is_granted(stage: Stage) -> None:
    stage.order("a")
    stage.order("b", EXEC)
    async with stage.carrying_out():
        await stage.until(lambda: len(stage.claimed()) == 2)
        stage.let_end("b")
        await stage.grant_when_claimed("b")
        await stage.until(lambda: stage.state("b") == "ended")
    assert stage.happened() == ["begun b", "ended b"]
    assert (stage.state("a"), stage.claimed(), stage.refreshed) == ("claimed", [("a", 1), ("b", 1)], [])


async def test_granted_orders_are_carried_out_one_at_a_time_in_the_order_of_their_grants(stage: Stage) -> None:
    for order, kind in (("a", RUN), ("b", EXEC), ("c", RUN)):
        stage.order(order, kind)
    async with stage.carrying_out():
        for order in ("c", "b", "a"):
            await stage.grant_when_claimed(order)
        for order in ("c", "b", "a"):
            await stage.until(lambda order=order: f"begun {order}" in stage.happened())  # type: ignore[misc]
            stage.let_end(order)
        await stage.until(lambda: stage.state("a") == "ended")
    assert stage.happened() == ["begun c", "ended c", "begun b", "ended b", "begun a", "ended a"]
    assert stage.called[0] == "agent apply --json --reason ordered --wait 600 --order c --enforce c"
    # Each run is of the catalog that is released when it is granted.
    assert stage.refreshed == [timedelta(0)] * 2
    assert stage.answers() == []


async def test_local_run_and_command_never_work_at_the_same_time(stage: Stage) -> None:
    catalog_path(stage.root).write_text("{}")
    orders, apply = stage.chores()
    stage.chore = orders
    async with running(apply.run()), running(orders.run()):
        await stage.until_happened("begun local")
        stage.order("a", EXEC)
        orders.wake()
        # While the local run holds the lease nothing is claimed.
        reads = len(stage.refreshed)
        await asyncio.sleep(0.1)
        assert (stage.claimed(), len(stage.refreshed)) == ([], reads)
        stage.let_end()
        await stage.grant_when_claimed("a")
        await stage.until_happened("begun local", "ended local", "begun a")
        stage.clock.advance(7200)
        apply.wake()
        await asyncio.sleep(0.1)
        assert stage.happened()[-1] == "begun a"
        stage.let_end("a")
        await stage.until(lambda: len(stage.happened()) >= 6)
    assert stage.happened()[2:6] == ["begun a", "ended a", "begun local", "ended local"]


async def test_granted_order_is_claimed_again_after_a_run_by_hand(stage: Stage) -> None:
    stage.order("a")
    stage.claims.claim_waiting()
    with lease_held(stage.store, "a run by hand"):
        async with stage.carrying_out():
            await stage.until(lambda: stage.state("a") == "waiting")
            assert stage.claimed() == [("a", 1)]
    stage.let_end("a")
    async with stage.carrying_out():
        await stage.grant_when_claimed("a", 2)
        await stage.until(lambda: stage.state("a") == "ended")
    assert stage.happened() == ["begun a", "ended a"]


async def test_order_whose_process_never_begins_is_given_up_after_a_few_starts(stage: Stage) -> None:
    stage.fail(75)
    stage.order("a")
    async with stage.carrying_out():
        await stage.grant_when_claimed("a")
        await stage.until(lambda: stage.state("a") == "ended")
    assert stage.called == ["failed"] * order_chore.MAX_STARTS
    assert stage.answers() == [("a", "broken")]


async def test_order_whose_process_cannot_be_started_is_given_up(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def start(*arguments: str) -> None:
        return None

    monkeypatch.setattr(stage.children, "start", start)
    stage.order("a", EXEC)
    async with stage.carrying_out():
        await stage.grant_when_claimed("a")
        await stage.until(lambda: stage.state("a") == "ended")
    assert stage.answers() == [("a", "broken")]
    assert "a process could not be started: precast agent exec" in caplog.text


@pytest.mark.parametrize("is_aborted", [True, False])
async def test_order_that_is_aborted_or_claimed_again_while_the_catalog_is_fetched_is_not_started(
    stage: Stage, is_aborted: bool
) -> None:
    stage.may_refresh.clear()
    stage.order("a")
    async with stage.carrying_out():
        await stage.grant_when_claimed("a")
        await stage.until(lambda: len(stage.refreshed) == 1)
        if is_aborted:
            stage.abort("a")
        else:
            stage.claims.requeue()
        stage.may_refresh.set()
        if is_aborted:
            stage.order("b", EXEC)
            stage.chore.wake()
            await stage.grant_when_claimed("b")
            await stage.until_happened("begun b")
        else:
            await stage.grant_when_claimed("a", 2)
            await stage.until_happened("begun a")
    assert len(stage.happened()) <= 2
    assert stage.answers() == ([("a", "aborted")] if is_aborted else [])


@pytest.mark.parametrize("kind", [RUN, EXEC])
async def test_abort_stops_the_process_of_a_begun_order(stage: Stage, kind: str) -> None:
    stage.order("a", kind)
    async with stage.carrying_out():
        await stage.grant_when_claimed("a")
        await stage.until_happened("begun a")
        stage.abort("a")
        stage.chore.wake()
        await stage.until(lambda: stage.state("a") == "ended")
    assert stage.happened() == ["begun a", "ended a"]
    assert stage.answers() == [("a", "aborted")]


async def test_abort_also_stops_the_process_that_an_earlier_daemon_has_started(stage: Stage) -> None:
    stage.order("a", EXEC)
    async with stage.carrying_out():
        await stage.grant_when_claimed("a")
        await stage.until_happened("begun a")
    # The daemon has ended; a command goes on.
    assert stage.state("a") == "begun"
    async with stage.carrying_out():
        stage.abort("a")
        stage.chore.wake()
        await stage.until(lambda: stage.state("a") == "ended")
    assert stage.answers() == [("a", "aborted")]


async def test_command_survives_the_daemon_and_is_answered_by_its_own_process(stage: Stage) -> None:
    stage.order("a", EXEC)
    async with stage.carrying_out():
        await stage.grant_when_claimed("a")
        await stage.until_happened("begun a")
    async with stage.carrying_out():
        stage.order("b", EXEC)
        stage.chore.wake()
        stage.let_end("b")
        assert stage.state("a") == "begun"
        stage.let_end("a")
        await stage.grant_when_claimed("b")
        await stage.until(lambda: stage.state("b") == "ended")
    assert stage.happened() == ["begun a", "ended a", "begun b", "ended b"]
    assert stage.answers() == []


async def test_run_is_asked_to_stop_when_the_daemon_ends(stage: Stage) -> None:
    stage.order("a")
    async with stage.carrying_out():
        await stage.grant_when_claimed("a")
        await stage.until_happened("begun a")
    await stage.until_happened("begun a", "ended a")
    await stage.until(lambda: stage.state("a") == "ended")
    assert stage.answers() == []  # its report says that it is incomplete


async def test_killed_run_is_repeated_and_killed_command_is_not(stage: Stage) -> None:
    stage.order("a")
    stage.order("b", EXEC)
    async with stage.carrying_out():
        for order in ("a", "b"):
            await stage.grant_when_claimed(order)
            await stage.until(lambda order=order: stage.happened()[-1:] == [f"begun {order}"])  # type: ignore[misc]
            process = stage.store.read_note(run_process.RunProcess)
            assert process is not None
            assert process.order == order
            run_process.kill_group(process.pid)
        stage.let_end("a")
        await stage.grant_when_claimed("a", 2)
        await stage.until(lambda: stage.state("a") == "ended")
    assert stage.happened() == ["begun a", "begun b", "begun a", "ended a"]
    assert stage.answers() == [("b", "interrupted")]


async def test_process_that_does_not_stop_is_killed_and_the_next_order_begins(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stage.work(is_deaf=True)
    stage.order("a")
    stage.order("b")
    async with stage.carrying_out():
        await stage.grant_when_claimed("a")
        await stage.until_happened("begun a")
    # This daemon has started nothing: it kills the process of the earlier one.
    process = stage.store.read_note(run_process.RunProcess)
    assert process is not None
    assert process.is_alive
    assert not msgspec.structs.replace(process, ticks=process.ticks + 1).is_alive
    assert not msgspec.structs.replace(process, boot="another").is_alive
    monkeypatch.setattr(run_process, "MAX_DURATION", timedelta(0))
    monkeypatch.setattr(run_process, "STOP_GRACE", timedelta(0))
    async with stage.carrying_out():
        await stage.until(lambda: bool(stage.answers()))
        monkeypatch.setattr(run_process, "MAX_DURATION", timedelta(hours=1))
        stage.let_end("b")
        await stage.grant_when_claimed("b", 2)
        await stage.until(lambda: stage.state("b") == "ended")
    assert not is_alive(process.pid)
    (answer,) = stage.sent(NOT_RUN, NotRun)
    assert (answer.order, answer.reason) == ("a", "interrupted")
    assert "did not stop within 0:00:00, and was killed" in answer.message
    assert "a process is killed" in caplog.text


async def test_late_process_of_this_daemon_is_asked_to_stop_and_then_killed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(run_process, "MAX_DURATION", timedelta(seconds=3))
    monkeypatch.setattr(run_process, "STOP_GRACE", timedelta(seconds=0.1))
    stage.work(is_deaf=True)
    stage.order("a")
    async with stage.carrying_out():
        await stage.grant_when_claimed("a")
        await stage.until(lambda: stage.state("a") == "ended")
    assert "asked to stop" in caplog.text
    assert "and was killed" in caplog.text


async def test_restart_is_begun_before_the_daemon_ends_and_answered_by_the_next(stage: Stage) -> None:
    stage.order("a", RESTART_AGENT)
    async with stage.carrying_out():
        await stage.grant_when_claimed("a")
        await stage.until(lambda: stage.restarts == ["now"])
        assert (stage.state("a"), stage.sent(ORDER_ENDED, OrderEnded)) == ("begun", [])
    async with stage.carrying_out():
        await stage.until(lambda: stage.state("a") == "ended")
    (answer,) = stage.sent(ORDER_ENDED, OrderEnded)
    assert (answer.order, answer.is_success, stage.restarts) == ("a", True, ["now"])
