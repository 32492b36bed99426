"""The chores of the daemon with real child processes, which run a script of the test instead of `precast`."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from lab.processes import is_alive
from precast.agent.catalog.cached_catalog import catalog_path
from precast.agent.catalog.staleness import Staleness, read_staleness
from precast.agent.chores import apply as apply_chore
from precast.agent.chores import facts as facts_chore
from precast.agent.chores import fetch as fetch_chore
from precast.agent.chores.apply import ApplyChore
from precast.agent.chores.certificate import CertificateChore
from precast.agent.chores.child_processes import ChildProcesses, watch_by_descriptor
from precast.agent.chores.facts import FactsChore
from precast.agent.chores.fetch import FetchChore
from precast.agent.chores.leased_processes import LeasedProcesses
from precast.agent.identity.credentials import Credentials
from precast.agent.orders.collect_orders import CollectOrders
from precast.agent.orders.registry import OrderRegistry
from precast.agent.orders.renew_orders import RenewOrders
from precast.agent.settings import AgentSettings
from precast.agent.state.spool import Spool, SpoolLimits
from precast.agent.state.status_notes import (
    CatalogRunNote,
    CertificateNote,
    ConnectionNote,
    FactsNote,
    FactsScheduleNote,
    FetchNote,
    PolicyNote,
    RunNote,
)
from precast.agent.state.store import LocalStore
from precast.base.clock import ManualClock
from precast.wire.sessions import COLLECT, RENEW
from tests.unit.agent.state.records import record

DEADLINE_S = 30.0


class Stage:
    """A node whose `precast` is a script of the test."""

    def __init__(self, root: Path, clock: ManualClock) -> None:
        self.root = root
        self.clock = clock
        self.store = LocalStore.open(root, lambda: "instance", clock)
        self.script = root / "precast"
        self.calls = root / "calls"
        self.done = asyncio.Event()
        self.registry = OrderRegistry(self.store, Spool(self.store, SpoolLimits()))
        self.collect_orders = self.registry.find(CollectOrders)
        self.renew_orders = self.registry.find(RenewOrders)
        self.refreshed: list[timedelta] = []
        self.children = ChildProcesses([sys.executable, str(self.script)], ["--root", str(root)], {})
        self.processes = LeasedProcesses(self.children, self.store, root, lambda: None)

    def answer(self, out: str = "", *, error: str = "", code: int = 0, waits_for: str = "calls") -> None:
        """Write a script that waits for a file, then prints this and ends with this exit code."""
        self.script.write_text(
            "import pathlib, sys, time\n"
            f"open({str(self.calls)!r}, 'a').write(' '.join(sys.argv[1:-2]) + '\\n')\n"
            f"while not pathlib.Path({str(self.root / waits_for)!r}).exists(): time.sleep(0.01)\n"
            f"sys.stdout.write({out!r}); sys.stderr.write({error!r}); sys.exit({code})\n"
        )

    @property
    def called(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def facts(self) -> FactsChore:
        return FactsChore(self.children, self.store, self.collect_orders, AgentSettings(), self.done.set)

    def certificate(self) -> CertificateChore:
        credentials = Credentials(self.root)
        credentials.certificate.write_text("there is one")
        return CertificateChore(self.children, self.store, self.renew_orders, credentials, self.done.set)

    def fetch(self) -> FetchChore:
        credentials = Credentials(self.root)
        credentials.certificate.write_text("there is one")
        settings = AgentSettings(fetch_interval=timedelta(hours=1), splay=timedelta(0))
        return FetchChore(self.children, self.store, credentials, settings, self.done.set)

    def apply(self, interval: timedelta = timedelta(0), *, has_catalog: bool = True) -> ApplyChore:
        if has_catalog:
            catalog_path(self.root).write_text("{}")
        settings = AgentSettings(apply_interval=interval, splay=timedelta(0))
        return ApplyChore(self.store, self.registry.claims, self.processes, settings, self._refresh)

    async def _refresh(self, max_age: timedelta) -> None:
        self.refreshed.append(max_age)

    def fetched(self, digest: str) -> None:
        """Write the note that the real child process writes."""
        self.store.write_note(FetchNote(digest, checked_at=self.clock.now()))

    def ran(self, digest: str) -> None:
        """Write the note that the real child process writes."""
        self.store.write_note(CatalogRunNote(digest, self.clock.now(), True, "released"))

    def receive(self, kind: str, order: object = None) -> None:
        """Store an order as if a server had sent it."""
        self.registry.receive(record(self.store.session_state().received + 1, kind, order))

    async def until_called(self, times: int) -> None:
        await self.until(lambda: len(self.called) >= times)

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not is_so():
                await asyncio.sleep(0.01)

    def scheduled(self) -> int:
        """How many runs were due by the schedule."""
        return sum("--reason schedule" in call for call in self.called)


class CountedClock(ManualClock):
    """Knows how often it was read: whoever waits for the clock has read it."""

    def __init__(self) -> None:
        super().__init__()
        self._reads = 0

    def now(self) -> datetime:
        self._reads += 1
        return super().now()

    def monotonic_s(self) -> float:
        self._reads += 1
        return super().monotonic_s()

    async def until_read(self, stage: Stage) -> None:
        """Wait until every chore has read it, several times."""
        enough = self._reads + 100
        await stage.until(lambda: self._reads > enough)


@pytest.fixture
def stage(tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(facts_chore, "MIN_PAUSE_S", 0.0)
    monkeypatch.setattr(facts_chore, "CHECK_S", 0.02)
    monkeypatch.setattr(apply_chore, "CHECK_S", 0.02)
    monkeypatch.setattr(apply_chore, "RETRY_START_S", 0.02)
    monkeypatch.setattr(fetch_chore, "MIN_PAUSE_S", 0.0)
    monkeypatch.setattr(fetch_chore, "CHECK_S", 0.02)
    watch_by_descriptor()
    made = Stage(tmp_path, clock)
    yield made
    made.store.close()
    if sys.version_info < (3, 12):
        asyncio.set_child_watcher(asyncio.ThreadedChildWatcher())


@asynccontextmanager
async def running(work: Awaitable[None]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def collected(stage: Stage) -> None:
    """Write the note that the real child process writes."""
    stage.store.write_note(FactsNote(stage.clock.now(), "d1", 0))


async def test_facts_are_collected_at_once_and_then_on_their_schedule(stage: Stage) -> None:
    stage.answer(waits_for="noted")
    collected(stage)
    stage.clock.advance(3600)
    async with running(stage.facts().run()):
        await stage.until_called(1)
        collected(stage)
        (stage.root / "noted").touch()
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
        plan = stage.store.read_note(FactsScheduleNote)
        assert plan is not None
        assert stage.clock.now() < plan.next_at <= stage.clock.now() + timedelta(minutes=30)
        stage.clock.advance((plan.next_at - stage.clock.now()).total_seconds())
        await stage.until_called(2)
    assert set(stage.called) == {"agent facts --spool"}


def set_clock(clock: ManualClock, by: timedelta) -> None:
    if by > timedelta(0):
        clock.set_ahead(by.total_seconds())
    else:
        clock.set_back(-by.total_seconds())


@pytest.mark.parametrize("jump", [timedelta(hours=1), timedelta(days=40), timedelta(days=-40)], ids=str)
async def test_clock_that_jumps_and_is_corrected_makes_no_work_due(stage: Stage, jump: timedelta) -> None:
    """If it did, all nodes whose clocks are set by the same source would work at the same time."""
    clock = CountedClock()
    stage.store.clock = stage.clock = clock
    stage.answer()
    collected(stage)
    stage.fetched("d1")
    stage.ran("d1")
    stage.store.write_note(RunNote(clock.now(), "d1", False, 0, 0, 0, 0, 1, 0.1))
    facts, fetch, apply = stage.facts(), stage.fetch(), stage.apply(timedelta(hours=1))
    async with running(facts.run()), running(fetch.run()), running(apply.run()):
        for by in (jump, -jump):
            await clock.until_read(stage)
            set_clock(clock, by)
            await clock.until_read(stage)
            assert stage.called == []
        clock.advance(3600)
        await stage.until(lambda: {call.split()[1] for call in stage.called} == {"facts", "fetch", "apply"})


async def test_facts_are_collected_at_once_when_woken_or_ordered(stage: Stage) -> None:
    stage.answer()
    collected(stage)
    stage.receive(COLLECT, {"why": "because"})
    chore = stage.facts()
    async with running(chore.run()):
        await stage.until_called(1)
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
        assert not stage.collect_orders.is_pending()
        chore.wake()
        await stage.until_called(2)


async def test_failed_collection_is_logged_and_retried_later(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.answer(error="precast: error: no room [AGENT-010]", code=75)
    stage.receive(COLLECT)
    async with running(stage.facts().run()):
        await stage.until_called(1)
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
        plan = stage.store.read_note(FactsScheduleNote)
        assert plan is not None
        assert plan.trouble == "precast: error: no room [AGENT-010]"
        assert plan.next_at == stage.clock.now() + facts_chore.RETRY
        assert stage.collect_orders.is_pending()
        stage.answer()
        stage.clock.advance(facts_chore.RETRY.total_seconds())
        await stage.until_called(2)
        async with asyncio.timeout(DEADLINE_S):
            while stage.collect_orders.is_pending():
                await asyncio.sleep(0.01)
    assert "no room" in caplog.text


async def test_child_that_hangs_is_killed_with_its_children(stage: Stage) -> None:
    stage.script.write_text(
        "import subprocess, time, sys\n"
        f"child = subprocess.Popen(['sleep', '1000'])\n"
        f"open({str(stage.calls)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(1000)\n"
    )
    task = asyncio.create_task(stage.children.run("agent", "facts", deadline_s=1000))
    await stage.until_called(1)
    task.cancel()
    await asyncio.wait([task])
    grandchild = int(stage.calls.read_text())
    async with asyncio.timeout(DEADLINE_S):
        while is_alive(grandchild):
            await asyncio.sleep(0.01)
    ended = await stage.children.run("agent", "facts", deadline_s=0.2)
    assert ended.trouble == "the process did not end within 0.2 s"


async def test_missing_program_is_reported(tmp_path: Path, stage: Stage) -> None:
    ended = await ChildProcesses([str(tmp_path / "none")], [], {}).run("agent", deadline_s=5)
    assert ended.trouble == "the process could not be started: No such file or directory"


def said(stage: Stage, *, renewed: bool, left: timedelta, due: timedelta) -> str:
    now = stage.clock.now()
    return json.dumps(
        {
            "name": "web1",
            "not_before": (now + left - timedelta(days=30)).isoformat(),
            "not_after": (now + left).isoformat(),
            "due_at": (now + due).isoformat(),
            "renewed": renewed,
        }
    )


async def test_certificate_is_checked_and_a_new_one_is_used(stage: Stage) -> None:
    stage.answer(said(stage, renewed=False, left=timedelta(days=20), due=timedelta(days=10)))
    chore = stage.certificate()
    async with running(chore.run()):
        await stage.until_called(1)
        async with asyncio.timeout(DEADLINE_S):
            while (note := stage.store.read_note(CertificateNote)) is None:
                await asyncio.sleep(0.01)
        assert (note.name, note.not_after) == ("web1", stage.clock.now() + timedelta(days=20))
        assert not stage.done.is_set()
        stage.answer(said(stage, renewed=True, left=timedelta(days=30), due=timedelta(days=20)))
        chore.wake()
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
    assert stage.called == ["agent renew --json --if-due"] * 2


async def test_ordered_renewal_does_not_wait_until_it_is_due(stage: Stage) -> None:
    stage.answer(said(stage, renewed=True, left=timedelta(days=30), due=timedelta(days=20)))
    stage.receive(RENEW)
    async with running(stage.certificate().run()):
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
    assert stage.called == ["agent renew --json"]
    assert not stage.renew_orders.is_pending()


async def test_failed_renewal_is_logged_and_the_order_stays(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.answer(error="precast: error: the server is away", code=75)
    stage.store.write_note(CertificateNote("web1", stage.clock.now() + timedelta(days=1), stage.clock.now()))
    stage.receive(RENEW)
    async with running(stage.certificate().run()):
        async with asyncio.timeout(DEADLINE_S):
            while not ((note := stage.store.read_note(CertificateNote)) and note.trouble):
                await asyncio.sleep(0.01)
    assert note.trouble == "precast: error: the server is away"
    assert stage.renew_orders.is_pending()
    assert "could not be renewed" in caplog.text


@pytest.mark.parametrize("left", [timedelta(days=-60), timedelta(days=90)], ids=["ahead", "behind"])
async def test_certificate_that_is_not_valid_by_a_wrong_clock_is_not_renewed_again_and_again(
    stage: Stage, caplog: pytest.LogCaptureFixture, left: timedelta
) -> None:
    stage.answer(said(stage, renewed=True, left=left, due=left))
    chore = stage.certificate()
    async with running(chore.run()):
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
        for _ in range(3):
            chore.wake()
            await asyncio.sleep(0.05)
    note = stage.store.read_note(CertificateNote)
    assert note is not None
    assert note.is_clock_wrong
    assert note.trouble.startswith("this machine's clock is wrong: set it (it shows 2030-")
    assert len(stage.called) == 1
    assert caplog.text.count("clock is wrong") == 1


async def test_scheduled_run_refreshes_the_catalog_first(stage: Stage) -> None:
    stage.answer()
    async with running(stage.apply(timedelta(hours=1)).run()):
        await stage.until_called(1)
        stage.clock.advance(3600)
        await stage.until_called(2)
    assert set(stage.called) == {"agent apply --json --reason schedule --wait 600"}
    assert len(stage.refreshed) == 2


async def test_nothing_is_applied_without_a_catalog_or_an_interval(stage: Stage) -> None:
    stage.answer()
    stage.fetched("d1")
    async with running(stage.apply(timedelta(hours=1), has_catalog=False).run()), running(stage.facts().run()):
        await stage.until_called(1)
    stage.ran("d1")
    async with running(stage.apply(timedelta(0)).run()), running(stage.facts().run()):
        await stage.until_called(2)
    assert set(stage.called) == {"agent facts --spool"}


async def test_new_catalog_is_applied_once_as_soon_as_it_is_fetched(stage: Stage) -> None:
    stage.answer(waits_for="noted")
    stage.ran("d1")
    stage.fetched("d1")
    chore = stage.apply()
    async with running(chore.run()):
        stage.fetched("d2")
        chore.wake()
        await stage.until_called(1)
        stage.ran("d2")
        (stage.root / "noted").touch()
        async with running(stage.facts().run()):
            await stage.until_called(2)
    assert stage.called == ["agent apply --json --reason released --wait 600", "agent facts --spool"]


async def test_new_catalog_whose_run_failed_to_end_is_retried_later(stage: Stage) -> None:
    stage.answer(code=75)
    stage.fetched("d1")
    async with running(stage.apply().run()):
        await stage.until_called(1)
        stage.clock.advance(apply_chore.RETRY.total_seconds())
        await stage.until_called(2)


async def test_catalog_is_fetched_when_announced_or_due_and_not_when_cached(stage: Stage) -> None:
    stage.answer()
    stage.fetched("d1")
    chore = stage.fetch()
    async with running(chore.run()):
        chore.compare_released("d1", 0)
        chore.compare_released("", 0)
        chore.compare_released("d2", 0)
        await stage.until_called(1)
        stage.fetched("d2")
        stage.clock.advance(3600)
        await stage.until_called(2)
        stage.fetched("d2")
        chore.compare_released("", 4)
        await stage.until_called(3)
    assert set(stage.called) == {"agent fetch --json"}


async def test_failed_fetch_makes_the_cached_catalog_stale_until_a_server_confirms_it(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.answer(error="precast: error: nobody answers [HTTP-002]\n  hint: wait\n", code=75)
    stage.fetched("d1")
    confirmed_at = stage.clock.now()
    assert read_staleness(stage.store) == Staleness()
    stage.clock.advance(600)
    lost_at = stage.clock.now()
    stage.store.write_note(ConnectionNote("https://s", False, lost_at, trouble="refused"))
    stage.clock.advance(3600)
    chore = stage.fetch()
    async with running(chore.run()):
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
        assert read_staleness(stage.store) == Staleness(True, lost_at, "nobody answers [HTTP-002]")
        stage.store.write_note(ConnectionNote("https://s", True, stage.clock.now()))
        assert read_staleness(stage.store).since == confirmed_at
        chore.compare_released("d1", 0)  # an announcement shows that the server is reachable again
        await stage.until_called(2)
        stage.fetched("d1")
    assert read_staleness(stage.store) == Staleness()
    assert "cannot be fetched: nobody answers" in caplog.text


async def test_refresh_fetches_unless_the_last_fetch_is_recent(stage: Stage) -> None:
    stage.answer()
    chore = stage.fetch()
    await chore.refresh()
    await chore.refresh()
    assert len(stage.called) == 1
    await chore.refresh(timedelta(0))
    stage.clock.advance(61)
    await chore.refresh()
    assert len(stage.called) == 3


async def test_window_that_opens_makes_a_run_due_once(stage: Stage) -> None:
    stage.answer()
    stage.ran("d1")
    stage.fetched("d1")
    opens_at = stage.clock.now().replace(minute=0, second=0, microsecond=0) + timedelta(hours=3)
    stage.store.write_note(PolicyNote(1, "window", [f"{opens_at:%a %H:%M} 1h"], opens_at + timedelta(days=30)))
    facts = stage.facts()
    async with running(stage.apply().run()), running(facts.run()):
        await stage.until_called(1)
        assert stage.scheduled() == 0
        stage.clock.advance((opens_at - stage.clock.now()).total_seconds())
        await stage.until(lambda: stage.scheduled() == 1)
        facts.wake()
        await stage.until_called(len(stage.called) + 1)
        assert stage.scheduled() == 1
        stage.clock.advance(7 * 24 * 3600)
        await stage.until(lambda: stage.scheduled() == 2)


async def test_run_that_enforced_while_the_clock_was_ahead_does_not_count_for_later_windows(stage: Stage) -> None:
    stage.answer()
    stage.fetched("d1")
    now = stage.clock.now()
    ahead = now + timedelta(days=40)
    stage.store.write_note(CatalogRunNote("d1", ahead, False, "schedule", enforced_at=ahead))
    opened = now.replace(minute=0, second=0, microsecond=0)
    stage.store.write_note(PolicyNote(1, "window", [f"{opened:%a %H:%M} 1h"], opened + timedelta(days=30)))
    async with running(stage.apply().run()):
        await stage.until(lambda: stage.scheduled() == 1)


async def test_active_run_is_asked_to_stop_and_is_not_killed(stage: Stage) -> None:
    catalog_path(stage.root).write_text("{}")
    stage.script.write_text(
        "import pathlib, signal, sys\n"
        f"place = pathlib.Path({str(stage.root)!r})\n"
        "signal.signal(signal.SIGTERM, lambda *_: ((place / 'stopped').touch(), sys.exit(0)))\n"
        f"open({str(stage.calls)!r}, 'a').write('begun\\n')\n"
        "signal.pause()\n"
    )
    async with running(stage.apply(timedelta(hours=1)).run()):
        await stage.until_called(1)
    async with asyncio.timeout(DEADLINE_S):
        while not (stage.root / "stopped").exists():
            await asyncio.sleep(0.01)
