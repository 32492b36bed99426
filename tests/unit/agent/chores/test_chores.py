"""What the daemon has children do: real processes, but ones that only pretend to collect and renew."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from lab.processes import is_alive
from precast.agent.applying.lease import held
from precast.agent.catalog.cached import place
from precast.agent.catalog.freshness import Freshness, freshness
from precast.agent.chores import apply as apply_chore
from precast.agent.chores import chores, run_process
from precast.agent.chores import fetch as fetch_chore
from precast.agent.chores.apply import ApplyChore
from precast.agent.chores.children import Children, watch_by_descriptor
from precast.agent.chores.chores import CertificateChore, FactsChore
from precast.agent.chores.fetch import FetchChore
from precast.agent.identity.credentials import Credentials
from precast.agent.orders.runs import Orders
from precast.agent.settings import AgentSettings
from precast.agent.state.notes import (
    CertificateNote,
    FactsNote,
    FactsPlan,
    FetchNote,
    KeptRunNote,
    LinkNote,
    PolicyNote,
)
from precast.agent.state.spool import Limits, Spool
from precast.agent.state.store import LocalStore
from precast.base.clock import ManualClock
from precast.wire.jobs.orders import NOT_RUN, NotRun, RunOrder
from precast.wire.sessions import COLLECT, RENEW
from tests.unit.agent.state.records import record

DEADLINE_S = 30.0


class Stage:
    """A node whose `precast` is a script of the test's."""

    def __init__(self, root: Path, clock: ManualClock) -> None:
        self.root = root
        self.clock = clock
        self.store = LocalStore.open(root, lambda: "instance", clock)
        self.script = root / "precast"
        self.calls = root / "calls"
        self.done = asyncio.Event()
        self.orders = Orders(self.store, Spool(self.store, Limits()))
        self.freshened: list[timedelta] = []
        self.children = Children([sys.executable, str(self.script)], ["--root", str(root)], {})

    def answer(self, out: str = "", *, error: str = "", code: int = 0, waits_for: str = "calls") -> None:
        """What the child says when it ends, which it does not before there is a file of that name."""
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
        return FactsChore(self.children, self.store, AgentSettings(), self.done.set)

    def certificate(self) -> CertificateChore:
        credentials = Credentials(self.root)
        credentials.certificate.write_text("there is one")
        return CertificateChore(self.children, self.store, credentials, self.done.set)

    def fetch(self) -> FetchChore:
        credentials = Credentials(self.root)
        credentials.certificate.write_text("there is one")
        settings = AgentSettings(fetch_interval=timedelta(hours=1), splay=timedelta(0))
        return FetchChore(self.children, self.store, credentials, settings, self.done.set)

    def apply(self, interval: timedelta = timedelta(0), *, has_catalog: bool = True) -> ApplyChore:
        if has_catalog:
            place(self.root).write_text("{}")
        settings = AgentSettings(apply_interval=interval, splay=timedelta(0))
        return ApplyChore(self.children, self.store, self.orders, settings, self.root, self._freshen)

    async def _freshen(self, least_age: timedelta) -> None:
        self.freshened.append(least_age)

    def fetched(self, digest: str) -> None:
        """What the real child notes."""
        self.store.note(FetchNote(digest, checked_at=self.clock.now()))

    def ran(self, digest: str) -> None:
        """What the real child notes."""
        self.store.note(KeptRunNote(digest, self.clock.now(), True, "released"))

    def order(self, name: str, *tags: str) -> None:
        expires_at = self.clock.now() + timedelta(minutes=10)
        order = RunOrder(name, "enforce", expires_at, list(tags))
        self.orders.take(record(self.store.standing().received + 1), order)

    def answers(self) -> list[NotRun]:
        rows = self.store.read("SELECT body FROM record WHERE kind = ? ORDER BY id", (NOT_RUN,))
        return [msgspec.json.decode(body, type=NotRun) for (body,) in rows]

    async def until_called(self, times: int) -> None:
        await self.until(lambda: len(self.called) >= times)

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not is_so():
                await asyncio.sleep(0.01)

    def scheduled(self) -> int:
        """How many runs were due by the schedule."""
        return sum("--reason schedule" in call for call in self.called)


@pytest.fixture
def stage(tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(chores, "LEAST_PAUSE_S", 0.0)
    monkeypatch.setattr(chores, "LOOK_S", 0.02)
    monkeypatch.setattr(apply_chore, "LOOK_S", 0.02)
    monkeypatch.setattr(apply_chore, "AGAIN_S", 0.02)
    monkeypatch.setattr(fetch_chore, "LEAST_PAUSE_S", 0.0)
    monkeypatch.setattr(fetch_chore, "LOOK_S", 0.02)
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
    """What the real child notes."""
    stage.store.note(FactsNote(stage.clock.now(), "d1", 0))


async def test_facts_are_collected_at_once_and_then_on_their_schedule(stage: Stage) -> None:
    stage.answer(waits_for="noted")
    collected(stage)
    stage.clock.advance(3600)
    async with running(stage.facts().run()):
        await stage.until_called(1)
        collected(stage)
        (stage.root / "noted").touch()
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
        plan = stage.store.noted(FactsPlan)
        assert plan is not None
        assert stage.clock.now() < plan.next_at <= stage.clock.now() + timedelta(minutes=30)
        stage.clock.advance((plan.next_at - stage.clock.now()).total_seconds())
        await stage.until_called(2)
    assert set(stage.called) == {"agent facts --spool"}


async def test_facts_that_are_wanted_or_ordered_are_collected_now(stage: Stage) -> None:
    stage.answer()
    collected(stage)
    stage.store.take(record(1), COLLECT, "because")
    chore = stage.facts()
    async with running(chore.run()):
        await stage.until_called(1)
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
        assert stage.store.orders() == {}
        chore.want()
        await stage.until_called(2)


async def test_facts_that_fail_are_told_and_tried_again_later(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.answer(error="precast: error: no room [AGENT-010]", code=75)
    stage.store.take(record(1), COLLECT)
    async with running(stage.facts().run()):
        await stage.until_called(1)
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
        plan = stage.store.noted(FactsPlan)
        assert plan is not None
        assert plan.trouble == "precast: error: no room [AGENT-010]"
        assert plan.next_at == stage.clock.now() + chores.RETRY
        assert COLLECT in stage.store.orders()
        stage.answer()
        stage.clock.advance(chores.RETRY.total_seconds())
        await stage.until_called(2)
        async with asyncio.timeout(DEADLINE_S):
            while stage.store.orders():
                await asyncio.sleep(0.01)
    assert "no room" in caplog.text


async def test_child_that_hangs_is_killed_with_what_it_started(stage: Stage) -> None:
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
    assert ended.trouble == "it was not done within 0.2 s"


async def test_program_that_is_not_there_is_told(tmp_path: Path, stage: Stage) -> None:
    ended = await Children([str(tmp_path / "none")], [], {}).run("agent", deadline_s=5)
    assert ended.trouble == "it could not be started: No such file or directory"


def said(stage: Stage, *, renewed: bool, left: timedelta, due: timedelta) -> str:
    now = stage.clock.now()
    return json.dumps(
        {
            "name": "web1",
            "not_after": (now + left).isoformat(),
            "due_at": (now + due).isoformat(),
            "renewed": renewed,
        }
    )


async def test_certificate_is_looked_at_and_used_when_it_is_new(stage: Stage) -> None:
    stage.answer(said(stage, renewed=False, left=timedelta(days=20), due=timedelta(days=10)))
    chore = stage.certificate()
    async with running(chore.run()):
        await stage.until_called(1)
        async with asyncio.timeout(DEADLINE_S):
            while (note := stage.store.noted(CertificateNote)) is None:
                await asyncio.sleep(0.01)
        assert (note.name, note.not_after) == ("web1", stage.clock.now() + timedelta(days=20))
        assert not stage.done.is_set()
        stage.answer(said(stage, renewed=True, left=timedelta(days=30), due=timedelta(days=20)))
        chore.look()
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
    assert stage.called == ["agent renew --json --if-due"] * 2


async def test_certificate_that_a_server_wants_renewed_is_renewed_without_asking_when(stage: Stage) -> None:
    stage.answer(said(stage, renewed=True, left=timedelta(days=30), due=timedelta(days=20)))
    stage.store.take(record(1), RENEW)
    async with running(stage.certificate().run()):
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
    assert stage.called == ["agent renew --json"]
    assert stage.store.orders() == {}


async def test_renewal_that_fails_is_told_and_the_order_stays(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.answer(error="precast: error: the server is away", code=75)
    stage.store.note(CertificateNote("web1", stage.clock.now() + timedelta(days=1), stage.clock.now()))
    stage.store.take(record(1), RENEW)
    async with running(stage.certificate().run()):
        async with asyncio.timeout(DEADLINE_S):
            while not ((note := stage.store.noted(CertificateNote)) and note.trouble):
                await asyncio.sleep(0.01)
    assert note.trouble == "precast: error: the server is away"
    assert RENEW in stage.store.orders()
    assert "could not be renewed" in caplog.text


async def test_catalog_is_applied_on_its_schedule_once_it_is_known_whether_it_counts(stage: Stage) -> None:
    stage.answer()
    async with running(stage.apply(timedelta(hours=1)).run()):
        await stage.until_called(1)
        stage.clock.advance(3600)
        await stage.until_called(2)
    assert set(stage.called) == {"agent apply --json --reason schedule --wait 600"}
    assert len(stage.freshened) == 2


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
        chore.look()
        await stage.until_called(1)
        stage.ran("d2")
        (stage.root / "noted").touch()
        stage.order("afterwards")
        await stage.until_called(2)
    assert stage.called[0] == "agent apply --json --reason released --wait 600"
    assert "--order afterwards" in stage.called[1]


async def test_new_catalog_whose_run_did_not_come_to_its_end_is_tried_again_later(stage: Stage) -> None:
    stage.answer(code=75)
    stage.fetched("d1")
    async with running(stage.apply().run()):
        await stage.until_called(1)
        stage.clock.advance(apply_chore.RETRY.total_seconds())
        await stage.until_called(2)


async def test_orders_are_followed_one_after_the_other_with_what_counts_by_then(stage: Stage) -> None:
    stage.script.write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from precast.agent.orders.runs import Orders\n"
        "from precast.agent.state.spool import Limits, Spool\n"
        "from precast.agent.state.store import LocalStore\n"
        f"store = LocalStore.open(Path({str(stage.root)!r}), lambda: 'x')\n"
        "orders, name = Orders(store, Spool(store, Limits())), sys.argv[sys.argv.index('--order') + 1]\n"
        "orders.begin(name)\n"
        "orders.end(name)\n"
        f"open({str(stage.calls)!r}, 'a').write(' '.join(sys.argv[1:-2]) + '\\n')\n"
    )
    stage.order("o1", "web", "db")
    stage.order("o2")
    async with running(stage.apply().run()):
        await stage.until_called(2)
    assert stage.called == [
        "agent apply --json --reason ordered --wait 600 --order o1 --enforce --tags web,db",
        "agent apply --json --reason ordered --wait 600 --order o2 --enforce",
    ]
    assert stage.freshened == [timedelta(0)] * 2
    assert stage.answers() == []


async def test_order_whose_process_did_not_begin_is_handed_over_again_until_it_expires(stage: Stage) -> None:
    stage.answer(code=1)
    stage.order("o1")
    async with running(stage.apply().run()):
        await stage.until_called(2)
        stage.clock.advance(3600)
        async with asyncio.timeout(DEADLINE_S):
            while not stage.answers():
                await asyncio.sleep(0.01)
    assert [(one.order, one.reason) for one in stage.answers()] == [("o1", "expired")]


async def test_run_that_a_daemon_before_has_left_is_let_end_and_its_order_not_repeated(stage: Stage) -> None:
    stage.answer()
    stage.order("o1")
    stage.orders.next()
    stage.orders.begin("o1")
    stage.order("o2")
    with held(stage.store, "the run of an earlier daemon"):
        async with running(stage.apply().run()), running(stage.facts().run()):
            await stage.until_called(1)
        assert (stage.called, stage.answers()) == (["agent facts --spool"], [])
    async with running(stage.apply().run()):
        await stage.until_called(2)
    assert "--order o2" in stage.called[1]
    assert [(one.order, one.reason) for one in stage.answers()] == [("o1", "broken")]


HANGING = """
import sys, time
from pathlib import Path
from precast.agent.applying.lease import held
from precast.agent.orders import Orders
from precast.agent.spool import Limits, Spool
from precast.agent.store import LocalStore

root = Path({root!r})
store = LocalStore.open(root, lambda: "x")
order = sys.argv[sys.argv.index("--order") + 1]
with held(store, "a run that hangs"):
    Orders(store, Spool(store, Limits())).begin(order)
    open({calls!r}, "a").write(order + "\\n")
    while order == "o1":
        time.sleep(0.01)
    Orders(store, Spool(store, Limits())).end(order)
"""


@pytest.fixture
def deaf() -> Iterator[None]:
    """Processes that are started inside do not hear when they are told to end."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("deaf")
async def test_run_that_does_not_wind_up_is_killed_and_told_and_the_next_one_begins(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # If it is killed before it has begun, it is handed over again, as any order is.
    monkeypatch.setattr(run_process, "LONGEST", timedelta(seconds=2))
    monkeypatch.setattr(run_process, "WIND_UP", timedelta(seconds=0.1))
    stage.script.write_text(HANGING.format(root=str(stage.root), calls=str(stage.calls)))
    stage.order("o1")
    stage.order("o2")
    async with running(stage.apply().run()):
        await stage.until_called(2)
    assert stage.called == ["o1", "o2"]
    (answer,) = stage.answers()
    assert (answer.order, answer.reason) == ("o1", "broken")
    assert answer.message.startswith("the run was broken off: it took more than 0:00:02, was told to wind up, did not")
    assert "told to wind up" in caplog.text
    assert "and was killed" in caplog.text


@pytest.mark.usefixtures("deaf")
async def test_run_of_an_earlier_daemon_that_hangs_is_killed_too(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.script.write_text(HANGING.format(root=str(stage.root), calls=str(stage.calls)))
    stage.order("o1")
    stage.orders.next()
    process = await stage.children.start("agent", "apply", "--order", "o1")
    assert process is not None
    await stage.until_called(1)
    found = run_process.known(process.pid)
    assert found is not None
    stage.store.note(found)
    stage.order("o2")
    # One that is in time is let be, and so is another process of the same number.
    stage.answer()
    async with running(stage.apply().run()), running(stage.facts().run()):
        await stage.until_called(2)
    assert found.is_alive
    assert not msgspec.structs.replace(found, ticks=found.ticks + 1).is_alive
    assert not msgspec.structs.replace(found, boot="another").is_alive

    monkeypatch.setattr(run_process, "LONGEST", timedelta(0))
    monkeypatch.setattr(run_process, "WIND_UP", timedelta(0))
    stage.script.write_text(HANGING.format(root=str(stage.root), calls=str(stage.calls)))
    async with running(stage.apply().run()):
        assert await asyncio.wait_for(process.wait(), DEADLINE_S) == -signal.SIGKILL
        monkeypatch.setattr(run_process, "LONGEST", timedelta(hours=1))
        await stage.until_called(3)
    assert stage.called[-1] == "o2"
    assert [(one.order, "and was killed" in one.message) for one in stage.answers()] == [("o1", True)]


async def test_released_is_fetched_when_told_when_due_and_not_when_known(stage: Stage) -> None:
    stage.answer()
    stage.fetched("d1")
    chore = stage.fetch()
    async with running(chore.run()):
        chore.hear("d1", 0)
        chore.hear("", 0)
        chore.hear("d2", 0)
        await stage.until_called(1)
        stage.fetched("d2")
        stage.clock.advance(3600)
        await stage.until_called(2)
        stage.fetched("d2")
        chore.hear("", 4)
        await stage.until_called(3)
    assert set(stage.called) == {"agent fetch --json"}


async def test_fetch_that_fails_makes_what_is_kept_stale_until_a_server_confirms_it(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.answer(error="precast: error: nobody answers [HTTP-002]\n  hint: wait\n", code=75)
    stage.fetched("d1")
    confirmed_at = stage.clock.now()
    assert freshness(stage.store) == Freshness()
    stage.clock.advance(600)
    lost_at = stage.clock.now()
    stage.store.note(LinkNote("https://s", False, lost_at, trouble="refused"))
    stage.clock.advance(3600)
    chore = stage.fetch()
    async with running(chore.run()):
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
        assert freshness(stage.store) == Freshness(True, lost_at, "nobody answers [HTTP-002]")
        stage.store.note(LinkNote("https://s", True, stage.clock.now()))
        assert freshness(stage.store).since == confirmed_at
        chore.hear("d1", 0)  # a server that says so is there again
        await stage.until_called(2)
        stage.fetched("d1")
    assert freshness(stage.store) == Freshness()
    assert "cannot be fetched: nobody answers" in caplog.text


async def test_freshening_asks_unless_it_was_asked_just_now(stage: Stage) -> None:
    stage.answer()
    chore = stage.fetch()
    await chore.freshen()
    await chore.freshen()
    assert len(stage.called) == 1
    await chore.freshen(timedelta(0))
    stage.clock.advance(61)
    await chore.freshen()
    assert len(stage.called) == 3


async def test_window_that_opens_makes_a_run_due_once(stage: Stage) -> None:
    stage.answer()
    stage.ran("d1")
    stage.fetched("d1")
    opens_at = stage.clock.now().replace(minute=0, second=0, microsecond=0) + timedelta(hours=3)
    stage.store.note(PolicyNote(1, "window", [f"{opens_at:%a %H:%M} 1h"], opens_at + timedelta(days=30)))
    async with running(stage.apply().run()):
        stage.order("before it opens")
        await stage.until_called(1)
        stage.orders.give_up("before it opens", "a test")
        assert stage.scheduled() == 0
        stage.clock.advance((opens_at - stage.clock.now()).total_seconds())
        await stage.until(lambda: stage.scheduled() == 1)
        stage.order("while it is open")
        await stage.until_called(len(stage.called) + 1)
        stage.orders.give_up("while it is open", "a test")
        assert stage.scheduled() == 1
        stage.clock.advance(7 * 24 * 3600)
        await stage.until(lambda: stage.scheduled() == 2)


async def test_run_under_way_is_told_to_wind_up_and_is_not_killed(stage: Stage) -> None:
    place(stage.root).write_text("{}")
    stage.script.write_text(
        "import pathlib, signal, sys\n"
        f"place = pathlib.Path({str(stage.root)!r})\n"
        "signal.signal(signal.SIGTERM, lambda *_: ((place / 'wound up').touch(), sys.exit(0)))\n"
        f"open({str(stage.calls)!r}, 'a').write('begun\\n')\n"
        "signal.pause()\n"
    )
    async with running(stage.apply(timedelta(hours=1)).run()):
        await stage.until_called(1)
    async with asyncio.timeout(DEADLINE_S):
        while not (stage.root / "wound up").exists():
            await asyncio.sleep(0.01)
