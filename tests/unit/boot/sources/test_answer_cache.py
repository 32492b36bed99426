"""The answers of sources are cached for the later stages of the same boot, and for no other machine."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from precast.boot.capabilities import Capability
from precast.boot.sources import issues
from precast.boot.sources.answer_cache import FILE, AnswerCache, CachingSource, identify_start
from precast.boot.sources.contract import (
    DetectedSource,
    Evidence,
    InjectedFile,
    Likelihood,
    MachineAccess,
    Plausibility,
    SourceData,
)
from precast.boot.sources.machine import Machine
from precast.boot.sources.probes import ProbeResult, probe

VALUES = {
    Capability.INSTANCE_ID: "i-1",
    Capability.USER_DATA: b"\x1f\x8b\0secret",
    Capability.PUBLIC_KEYS: ("a", "b"),
    Capability.FILES: (InjectedFile("/etc/x", b"\xff"),),
    Capability.METADATA: {"a": [1, None, {"b": True}], 5: "five"},
}


class Counted:
    """A source that counts how often it is asked."""

    name, rank, deadline_s, needs_network = "counted", 50, 5.0, True
    capabilities = frozenset(Capability)

    def __init__(self, values: dict[Capability, Any] | None = None, error: BaseException | None = None) -> None:
        self.values = values
        self.error = error
        self.asked = self.networks = 0

    def likelihood(self, evidence: Evidence) -> Likelihood:
        return Likelihood(Plausibility.POSSIBLE, "a test")

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        self.asked += 1
        if self.error is not None:
            raise self.error

        async def network() -> dict[str, Any]:
            self.networks += 1
            return {"version": 2}

        def post(_: bytes) -> None: ...

        if self.values is None:
            return None
        values = {**self.values, Capability.PASSWORD_POST: post}
        return SourceData("there", values, {Capability.NETWORK_CONFIG: network})


def named(source: Counted, name: str) -> Counted:
    source.name = name
    return source


class Machines:
    """The stages of boots, over one state directory."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def stage(
        self, source: Counted, start: str = "s", is_continued: bool = True, is_last: bool = False
    ) -> CachingSource:
        return CachingSource(source, AnswerCache(self.place, start, is_continued, is_last))

    async def ask(self, source: Counted, *wanted: Capability, **how: Any) -> tuple[ProbeResult, list[Any]]:
        probed = await probe(self.stage(source, **how), Machine(self.place, Evidence()))
        return probed, [
            await probed.detected.get(capability) for capability in wanted
        ] if probed.detected is not None else []


@pytest.fixture
def machines(tmp_path: Path) -> Machines:
    return Machines(tmp_path)


async def test_later_stage_has_every_value_without_asking(machines: Machines) -> None:
    source = Counted(VALUES)
    wanted = (*VALUES, Capability.NETWORK_CONFIG)
    _, first = await machines.ask(source, *wanted, is_continued=False)
    assert machines.stage(source).needs_network is False
    probed, later = await machines.ask(source, *wanted)
    assert later == first == [*VALUES.values(), {"version": 2}]
    assert (source.asked, source.networks) == (1, 1)
    assert probed.detected is not None
    assert (probed.detected.origin, probed.detected.instance_id) == ("there (cached)", "i-1")
    assert Capability.PASSWORD_POST in probed.detected.capabilities


async def test_file_is_for_root_only(machines: Machines, tmp_path: Path) -> None:
    await machines.ask(Counted(VALUES), Capability.USER_DATA, is_continued=False)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


async def test_last_stage_has_what_was_kept_and_leaves_no_file(machines: Machines, tmp_path: Path) -> None:
    source = Counted(VALUES)
    await machines.ask(source, is_continued=False)
    assert (tmp_path / FILE).exists()
    wanted = (Capability.USER_DATA, Capability.NETWORK_CONFIG)  # the second is fetched only now
    _, values = await machines.ask(source, *wanted, is_last=True)
    assert values == [VALUES[Capability.USER_DATA], {"version": 2}]
    assert not (tmp_path / FILE).exists()


async def test_boot_without_stages_leaves_no_file(machines: Machines, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"of an earlier run")
    await machines.ask(Counted(VALUES), Capability.USER_DATA, is_continued=False, is_last=True)
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize("value", [10**30, "\ud800"], ids=["number", "surrogate"])
async def test_value_that_cannot_be_kept_is_asked_again(machines: Machines, value: Any) -> None:
    source = Counted({**VALUES, Capability.METADATA: {"serial": value}})
    for how in ({"is_continued": False}, {}):
        probed, values = await machines.ask(source, Capability.METADATA, **how)
        assert values == [{"serial": value}], probed.reason
    assert source.asked == 2


async def test_what_nobody_fetched_or_cannot_be_kept_is_asked_when_it_is_wanted(machines: Machines) -> None:
    source = Counted(VALUES)
    await machines.ask(source, is_continued=False)
    _, (keys,) = await machines.ask(source, Capability.PUBLIC_KEYS)
    assert (keys, source.asked) == (("a", "b"), 1)
    _, (network, post) = await machines.ask(source, Capability.NETWORK_CONFIG, Capability.PASSWORD_POST)
    assert network == {"version": 2}
    assert callable(post)
    assert source.asked == 2  # once for both
    await machines.ask(source, Capability.NETWORK_CONFIG)
    assert (source.asked, source.networks) == (2, 1)


@pytest.mark.parametrize("how", [{"start": "other"}, {"is_continued": False}])
async def test_another_boot_and_a_first_stage_ask_again(machines: Machines, how: dict[str, Any]) -> None:
    await machines.ask(Counted(VALUES), Capability.INSTANCE_ID, is_continued=False)
    source = Counted({**VALUES, Capability.INSTANCE_ID: "i-2"})
    _, values = await machines.ask(source, Capability.INSTANCE_ID, **how)
    assert values == ["i-2"]
    assert source.asked == 1


async def test_first_stage_that_finds_nobody_forgets_the_earlier_run(machines: Machines, tmp_path: Path) -> None:
    await machines.ask(Counted(VALUES), is_continued=False)
    stage = machines.stage(Counted(error=asyncio.CancelledError()), is_continued=False)
    with pytest.raises(asyncio.CancelledError):
        await stage.find(Machine(tmp_path, Evidence()))
    assert not (tmp_path / FILE).exists()


async def test_source_that_speaks_of_another_instance_now_is_refused(machines: Machines) -> None:
    await machines.ask(Counted(VALUES), Capability.INSTANCE_ID, is_continued=False)
    probed, _ = await machines.ask(Counted({**VALUES, Capability.INSTANCE_ID: "i-2"}))
    assert probed.detected is not None
    with pytest.raises(Exception, match="reports the instance i-2, but earlier in this boot it reported i-1"):
        await probed.detected.get(Capability.NETWORK_CONFIG)


@pytest.mark.parametrize("error", [None, issues.BAD_DOCUMENT.error(where="x", reason="it is torn")])
async def test_absent_source_is_asked_again_only_while_nobody_knows_the_machine(
    machines: Machines, error: Exception | None
) -> None:
    absent, present = named(Counted(error=error), "absent"), Counted(VALUES)
    first = AnswerCache(machines.place, "s", False)
    access = Machine(machines.place, Evidence())
    await probe(CachingSource(absent, first), access)
    assert (await machines.ask(absent))[0].detected is None
    assert absent.asked == 2
    answers = AnswerCache(machines.place, "s", True)
    await probe(CachingSource(present, answers), access)
    probed, _ = await machines.ask(absent)
    assert probed.is_absent is (error is None)
    assert probed.reason == ("absent" if error is None else f"{error}, earlier in this boot")
    assert absent.asked == 2


async def test_source_past_its_deadline_is_not_waited_for_again(machines: Machines, tmp_path: Path) -> None:
    class Silent(Counted):
        deadline_s = 0.02

        async def find(self, access: MachineAccess) -> DetectedSource | None:
            self.asked += 1
            await asyncio.Event().wait()
            return None

    silent, answers = named(Silent(), "silent"), AnswerCache(machines.place, "s", False)
    access = Machine(tmp_path, Evidence())
    await probe(CachingSource(silent, answers), access)
    await probe(CachingSource(Counted(VALUES), answers), access)
    probed, _ = await machines.ask(silent)
    assert probed.reason == "silent had not answered after 0.02 s, earlier in this boot"
    assert silent.asked == 1


@pytest.mark.parametrize("data", [b"", b"\xc1", b"torn", b"\x80", b"\x82\xa5start\xa1s"])
async def test_torn_file_is_none(machines: Machines, tmp_path: Path, data: bytes) -> None:
    (tmp_path / FILE).write_bytes(data)
    source = Counted(VALUES)
    assert (await machines.ask(source))[0].detected is not None
    assert source.asked == 1


async def test_where_nothing_can_be_written_the_source_still_answers(machines: Machines) -> None:
    machines.place = machines.place / "missing"
    assert (await machines.ask(Counted(VALUES), Capability.INSTANCE_ID, is_continued=False))[1] == ["i-1"]


def test_start_is_one_for_a_boot_and_another_for_a_copy(tmp_path: Path) -> None:
    place = tmp_path / "proc/1"
    place.mkdir(parents=True)
    fields = ["S", *(str(number) for number in range(4, 50))]

    def written(started: int) -> str:
        fields[19] = str(started)
        (place / "stat").write_text(f"1 (a) b (init) {' '.join(fields)}\n")
        return identify_start(tmp_path, "boot", Evidence(dmi={"product_uuid": "u"}))

    first = written(5)
    assert written(5) == first
    assert written(6) != first  # a container that was started again, or a copy of it
    assert identify_start(tmp_path, "boot", Evidence(dmi={"product_uuid": "v"})) != written(5)
    assert identify_start(tmp_path, "other", Evidence(dmi={"product_uuid": "u"})) != written(5)
    assert identify_start(tmp_path, "", Evidence()) == ""
