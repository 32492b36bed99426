"""The loop: a module starts once, as soon as its capabilities are known and trusted, and a module that did not run has a reason."""

import asyncio
import contextlib
import threading
from pathlib import Path

import pytest

from precast.base.errors import ConflictError
from precast.boot import events
from precast.boot.capabilities import Capability
from precast.boot.events import Result
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.sources import issues
from precast.boot.sources.contract import DetectedSource, MachineAccess, SourceData
from tests.unit.boot.scenes import Frequency, ModulePart, Scene, ScriptedSource, Stage, data, module


class Log:
    """Which modules ran, in order; shared by their threads."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def of(self, name: str) -> "Log._Run":
        return Log._Run(self, name)

    class _Run:
        def __init__(self, log: "Log", name: str) -> None:
            self._log, self._name = log, name

        def __call__(self, context: ModuleContext) -> ModuleOutcome:
            self._log.names.append(self._name)
            return context.outcome


async def test_module_starts_before_discovery_has_ended(tmp_path: Path) -> None:
    slow = ScriptedSource("slow", 1, data())
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def run(context: ModuleContext) -> ModuleOutcome:
        loop.call_soon_threadsafe(started.set)
        return context.outcome

    ask_zone = module("zoned", needs=frozenset({Capability.ZONE}))
    right = ScriptedSource("right", 9, data(user_data=b"x")).now()
    scene = Scene(tmp_path, [slow, right], [module("first", run), ask_zone])
    task = asyncio.ensure_future(scene.run())
    await asyncio.wait_for(started.wait(), 30)
    assert not task.done()  # `zoned` needs what only the slow one may fill
    slow.values = data(zone="z")
    slow.now()
    assert await task
    # A set: each module has its own thread, so the order of their ends is undefined.
    assert {event.module_run for event in scene.of(events.ModuleEnded)} == {"first", "zoned"}


async def test_sources_that_nobody_waits_for_are_let_go(tmp_path: Path) -> None:
    silent = ScriptedSource("silent", 1, data())
    scene = Scene(tmp_path, [silent, ScriptedSource("right", 9, data(user_data=b"x")).now()], [module("one")])
    assert await scene.run()
    assert silent.was_cancelled
    assert scene.of(events.SourceAnswered)[-1].reason == "no module waits for it any more"


async def test_pending_source_of_higher_rank_holds_back_until_it_ends(tmp_path: Path) -> None:
    high = ScriptedSource("high", 9, data("i-9", user_data=b"high"))
    low = ScriptedSource("low", 1, data("i-1", user_data=b"low")).now()
    seen = []

    def look(context: ModuleContext) -> ModuleOutcome:
        seen.append(context.config["user_data"])
        return context.outcome

    scene = Scene(tmp_path, [high, low], [module("one", look)])
    task = asyncio.ensure_future(scene.run())
    await asyncio.wait_for(high.was_asked.wait(), 30)
    assert not task.done()
    high.now()
    assert await task
    assert seen == [b"high"]
    assert scene.state.identity().instance_id == "i-9"  # type: ignore[union-attr]


async def test_deadline_of_a_higher_source_ends_the_holding_back(tmp_path: Path) -> None:
    high = ScriptedSource("high", 9, data("i-9"), deadline_s=0.05)
    scene = Scene(tmp_path, [high, ScriptedSource("low", 1, data("i-1", user_data=b"low")).now()], [module("one")])
    assert await scene.run()
    held = scene.of(events.CapabilityHeld)
    assert {event.source for event in held} == {"high"}
    assert "had not answered after 0.05 s" in scene.of(events.SourceAnswered)[-1].reason
    assert scene.state.identity().instance_id == "i-1"  # type: ignore[union-attr]


async def test_needed_capability_missing_is_said_and_an_optional_one_is_not_missed(tmp_path: Path) -> None:
    log = Log()
    modules = [
        module("needing", log.of("needing"), needs=frozenset({Capability.PUBLIC_KEYS})),
        module("using", log.of("using"), uses=frozenset({Capability.PUBLIC_KEYS})),
    ]
    scene = Scene(tmp_path, [ScriptedSource("one", 1, data(user_data=b"")).now()], modules)
    assert await scene.run()
    ended = {event.module_run: event for event in scene.of(events.ModuleEnded)}
    assert ended["needing"].result == Result.NOT_RUN
    assert ended["needing"].reason == "it needs public keys: no present source offers it"
    assert log.names == ["using"]


async def test_value_that_cannot_be_had_after_all_is_a_warning_of_who_wanted_it(tmp_path: Path) -> None:
    class Broken(ScriptedSource):
        async def find(self, access: MachineAccess) -> DetectedSource | None:
            async def fail() -> None:
                raise issues.BAD_DOCUMENT.error(where="x", reason="it is torn")

            return SourceData("here", data(), {Capability.ZONE: fail})

    uses = module("uses", uses=frozenset({Capability.ZONE, Capability.REGION}))
    again = module("again", uses=frozenset({Capability.ZONE}), after=["uses"])
    scene = Scene(tmp_path, [Broken("broken", 10)], [uses, again])
    assert await scene.run()
    told = {event.module_run: event.warnings for event in scene.of(events.ModuleEnded)}
    words = ("zone of broken is not used: x cannot be read: it is torn",)
    assert told == {"uses": words, "again": words}


async def test_keys_of_a_stranger_are_not_taken_unless_listed(tmp_path: Path) -> None:
    keys = module("keys", needs=frozenset({Capability.PUBLIC_KEYS}))
    identity = ScriptedSource("identity", 9, data("i-1", user_data=b"")).now()
    other = ScriptedSource("other", 1, data("i-1", public_keys=("k",))).now()
    scene = Scene(tmp_path / "a", [identity, other], [keys])
    assert await scene.run()
    assert scene.of(events.ModuleEnded)[0].result == Result.NOT_RUN
    scene = Scene(tmp_path / "b", [identity, other], [keys], trusted=["other"])
    assert await scene.run()
    assert scene.of(events.ModuleEnded)[0].result == Result.DONE


async def test_module_waits_for_those_it_comes_after_and_runs_though_they_failed(tmp_path: Path) -> None:
    log = Log()

    def fail(context: ModuleContext) -> ModuleOutcome:
        log.names.append("first")
        raise OSError("disk full")

    modules = [module("second", log.of("second"), after=["first", "not in this boot"]), module("first", fail)]
    scene = Scene(tmp_path, [ScriptedSource("one", 1, data()).now()], modules)
    assert not await scene.run()
    assert log.names == ["first", "second"]
    assert {event.module_run: event.reason for event in scene.of(events.ModuleEnded)}["first"] == "disk full"


async def test_password_of_a_user_waits_for_that_user_only_and_works_alone(tmp_path: Path) -> None:
    """S5.25, S5.26: alice's creation is stuck, bob's password is set meanwhile; carol exists already."""
    may_go, seen = threading.Event(), []
    is_bob_set = asyncio.Event()
    loop = asyncio.get_running_loop()

    def create(name: str) -> ModulePart:
        def run(context: ModuleContext) -> ModuleOutcome:
            assert name != "alice" or may_go.wait(30)
            seen.append(f"create {name}")
            return context.outcome

        return ModulePart(name, run, provides=(f"user:{name} exists",))

    def password(name: str) -> ModulePart:
        def run(context: ModuleContext) -> ModuleOutcome:
            seen.append(f"password {name}")
            if name == "bob":
                loop.call_soon_threadsafe(is_bob_set.set)
            return context.outcome

        return ModulePart(name, run, waits_for=(f"user:{name} exists",))

    modules = [
        module("setuserpassword", parts=lambda _: [password(name) for name in ("alice", "bob", "carol")]),
        module("createuser", parts=lambda _: [create(name) for name in ("alice", "bob")]),
    ]
    scene = Scene(tmp_path, [ScriptedSource("one", 1, data()).now()], modules)
    task = asyncio.ensure_future(scene.run())
    await asyncio.wait_for(is_bob_set.wait(), 30)
    may_go.set()
    assert await task
    assert seen.index("create bob") < seen.index("password bob")
    assert seen.index("create alice") < seen.index("password alice")
    assert seen.index("password bob") < seen.index("create alice")
    assert "password carol" in seen


async def test_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    inside, most = 0, 0
    guard = threading.Lock()
    turn = threading.Barrier(2, timeout=0.2)

    def run(context: ModuleContext) -> ModuleOutcome:
        nonlocal inside, most
        with guard:
            inside += 1
            most = max(most, inside)
        with contextlib.suppress(threading.BrokenBarrierError):
            turn.wait()  # were two inside, they would meet here
        with guard:
            inside -= 1
        return context.outcome

    modules = [module(f"m{number}", run, locks=("apt",)) for number in range(3)]
    assert await Scene(tmp_path, [ScriptedSource("one", 1, data()).now()], modules).run()
    assert most == 1


async def test_two_steps_hear_every_source_before_the_first_module(tmp_path: Path) -> None:
    slow = ScriptedSource("slow", 1, None)
    scene = Scene(tmp_path, [slow, ScriptedSource("one", 9, data()).now()], [module("m")], is_two_step=True)
    task = asyncio.ensure_future(scene.run())
    await asyncio.wait_for(slow.was_asked.wait(), 30)
    while not scene.of(events.ConfigurationMade):
        await asyncio.sleep(0)
    assert scene.of(events.ModuleStarted) == []
    slow.now()
    assert await task
    kinds = [type(event) for event in scene.events if isinstance(event, events.SourceAnswered | events.ModuleStarted)]
    assert kinds == [events.SourceAnswered, events.SourceAnswered, events.ModuleStarted]


async def test_jobs_run_as_often_as_they_say(tmp_path: Path) -> None:
    log = Log()
    modules = [
        module("always", log.of("always"), frequency=Frequency.BOOT),
        module("instance", log.of("instance")),
        module("once", log.of("once"), frequency=Frequency.ONCE),
    ]
    for instance_id in ("i-1", "i-1", "i-2"):
        log.names.append(instance_id)
        assert await Scene(tmp_path, [ScriptedSource("one", 1, data(instance_id)).now()], modules).run()
    text = " ".join(log.names)
    assert sorted(text.split("i-1")[1].split()) == ["always", "instance", "once"]
    assert text.split("i-1")[2].split("i-2")[0].split() == ["always"]
    assert sorted(text.split("i-2")[1].split()) == ["always", "instance"]


async def test_failed_job_is_not_run_again_unless_told_to(tmp_path: Path) -> None:
    tries = 0

    def fail(context: ModuleContext) -> ModuleOutcome:
        nonlocal tries
        tries += 1
        raise OSError("no")

    for options, expected in (({}, 1), ({}, 1), ({"is_retry": True}, 2)):
        await Scene(tmp_path, [ScriptedSource("one", 1, data()).now()], [module("m", fail)], **options).run()
        assert tries == expected


async def test_without_any_source_the_machine_is_taken_for_what_it_was(tmp_path: Path) -> None:
    log = Log()
    modules = [module("m", log.of("m"))]
    assert await Scene(tmp_path, [ScriptedSource("one", 1, data("i-1")).now()], modules).run()
    scene = Scene(tmp_path, [ScriptedSource("one", 1, None).now()], modules)
    assert await scene.run()
    assert scene.of(events.ConfigurationMade)[0].instance_id == "i-1"
    assert log.names == ["m"]


async def test_machine_that_nobody_knows_has_an_id_of_its_own(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [], [module("m")])
    assert await scene.run()
    assert scene.of(events.ConfigurationMade)[0].instance_id == "iid-datasource-none"


async def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [ScriptedSource("one", 1, data()).now()], [module("m")], is_dry_run=True)
    assert await scene.run()
    assert list(tmp_path.iterdir()) == []


async def test_second_boot_at_the_same_time_is_refused(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [ScriptedSource("one", 1, data())], [module("m")])
    task = asyncio.ensure_future(scene.run())
    while not scene.of(events.SourceAsked):
        await asyncio.sleep(0)
    with pytest.raises(ConflictError, match="another boot is running"):
        await Scene(tmp_path, [], []).run()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_stage_runs_its_modules_and_leaves_the_later_ones(tmp_path: Path) -> None:
    log = Log()
    modules = [module(stage.name, log.of(stage.name), stage=stage) for stage in Stage]
    for stage in (Stage.LOCAL, Stage.NETWORK, Stage.FINAL):
        assert await Scene(tmp_path, [ScriptedSource("one", 1, data()).now()], modules, stage=stage).run()
        log.names.append("|")
    assert log.names[:4] == ["LOCAL", "|", "NETWORK", "|"]
    assert set(log.names[4:]) == {"CONFIG", "FINAL", "|"}


class Remote(ScriptedSource):
    needs_network = True


async def test_local_stage_asks_the_network_only_when_it_was_brought_up(tmp_path: Path) -> None:
    async def up() -> bool:
        return True

    async def down() -> bool:
        return False

    for name, bring_up, is_asked in (("a", None, False), ("b", down, False), ("c", up, True)):
        remote = Remote("remote", 1, data()).now()
        scene = Scene(tmp_path / name, [remote], [module("m")], stage=Stage.LOCAL, is_online=False, bring_up=bring_up)
        assert await scene.run() == is_asked
        assert remote.was_asked.is_set() == is_asked
        if not is_asked:
            (left,) = scene.of(events.ModuleLeftOut)
            assert left.module_run == "configuration"
            assert "instance id, if known: settled" in left.reason


class Broken(ScriptedSource):
    async def find(self, access: MachineAccess) -> DetectedSource | None:
        raise ZeroDivisionError("oops")


async def test_bug_of_a_source_or_module_is_a_reason_and_the_boot_goes_on(tmp_path: Path) -> None:
    def bug(context: ModuleContext) -> ModuleOutcome:
        raise KeyError("x")

    scene = Scene(tmp_path, [Broken("bad", 9), ScriptedSource("one", 1, data()).now()], [module("m", bug), module("n")])
    assert not await scene.run()
    assert {event.source: event.reason for event in scene.of(events.SourceAnswered)}[
        "bad"
    ] == "bad failed with ZeroDivisionError: oops"
    assert {event.module_run: event.result for event in scene.of(events.ModuleEnded)} == {
        "m": Result.FAILED,
        "n": Result.DONE,
    }


async def test_modules_that_wait_for_each_other_are_told_and_do_not_hang(tmp_path: Path) -> None:
    scene = Scene(
        tmp_path, [ScriptedSource("one", 1, data()).now()], [module("a", after=["b"]), module("b", after=["a"])]
    )
    assert not await scene.run()
    assert {event.module_run: event.reason for event in scene.of(events.ModuleLeftOut)} == {
        "a": "a waits for b through b: over (no token there)",
        "b": "b waits for a through a: over (no token there)",
    }


async def test_module_with_the_name_of_a_capability_is_told_apart(tmp_path: Path) -> None:
    needing = module("zone", needs=frozenset({Capability.ZONE}))
    scene = Scene(tmp_path, [ScriptedSource("one", 1, data()).now()], [needing])
    assert await scene.run()
    (ended,) = scene.of(events.ModuleEnded)
    assert (ended.module_run, ended.result, ended.reason) == (
        "zone", Result.NOT_RUN, "it needs zone: no present source offers it",
    )  # fmt: skip
