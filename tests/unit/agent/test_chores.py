"""What the daemon has children do: real processes, but ones that only pretend to collect and renew."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from precast.agent import apply_chore, chores
from precast.agent.apply_chore import ApplyChore
from precast.agent.applying.kept import place
from precast.agent.children import Children, watch_by_descriptor
from precast.agent.chores import CertificateChore, FactsChore
from precast.agent.credentials import Credentials
from precast.agent.notes import CertificateNote, FactsNote, FactsPlan
from precast.agent.settings import AgentSettings
from precast.agent.store import LocalStore
from precast.base.clock import ManualClock
from precast.wire.session import COLLECT, RENEW

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

    def apply(self, interval: timedelta) -> ApplyChore:
        settings = AgentSettings(apply_interval=interval, splay=timedelta(0))
        return ApplyChore(self.children, self.store, settings, self.root)

    async def until_called(self, times: int) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while len(self.called) < times:
                await asyncio.sleep(0.01)


@pytest.fixture
def stage(tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(chores, "LEAST_PAUSE_S", 0.0)
    monkeypatch.setattr(chores, "LOOK_S", 0.02)
    monkeypatch.setattr(apply_chore, "LOOK_S", 0.02)
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
    stage.store.take(1, COLLECT, "because")
    chore = stage.facts()
    async with running(chore.run()):
        await stage.until_called(1)
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
        assert stage.store.orders() == {}
        chore.want()
        await stage.until_called(2)


async def test_facts_that_fail_are_told_and_tried_again_later(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.answer(error="precast: error: no room [AGENT-010]", code=75)
    stage.store.take(1, COLLECT)
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
        while _is_alive(grandchild):
            await asyncio.sleep(0.01)
    ended = await stage.children.run("agent", "facts", deadline_s=0.2)
    assert ended.trouble == "it was not done within 0.2 s"


def _is_alive(pid: int) -> bool:
    """A zombie is not: nobody may be there to bury it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


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
    stage.store.take(1, RENEW)
    async with running(stage.certificate().run()):
        await asyncio.wait_for(stage.done.wait(), DEADLINE_S)
    assert stage.called == ["agent renew --json"]
    assert stage.store.orders() == {}


async def test_renewal_that_fails_is_told_and_the_order_stays(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.answer(error="precast: error: the server is away", code=75)
    stage.store.note(CertificateNote("web1", stage.clock.now() + timedelta(days=1), stage.clock.now()))
    stage.store.take(1, RENEW)
    async with running(stage.certificate().run()):
        async with asyncio.timeout(DEADLINE_S):
            while not ((note := stage.store.noted(CertificateNote)) and note.trouble):
                await asyncio.sleep(0.01)
    assert note.trouble == "precast: error: the server is away"
    assert RENEW in stage.store.orders()
    assert "could not be renewed" in caplog.text


async def test_catalog_is_applied_on_its_schedule(stage: Stage) -> None:
    stage.answer()
    place(stage.root).write_text("{}")
    chore = stage.apply(timedelta(hours=1))
    async with running(chore.run()):
        await stage.until_called(1)
        stage.clock.advance(3600)
        await stage.until_called(2)
    assert set(stage.called) == {"agent apply --json"}


async def test_nothing_is_applied_without_a_catalog_or_an_interval(stage: Stage) -> None:
    stage.answer()
    async with running(stage.apply(timedelta(hours=1)).run()), running(stage.facts().run()):
        await stage.until_called(1)
    place(stage.root).write_text("{}")
    async with running(stage.apply(timedelta(0)).run()), running(stage.facts().run()):
        await stage.until_called(2)
    assert set(stage.called) == {"agent facts --spool"}


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
