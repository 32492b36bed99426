"""Which module runs count as run, and what a status says of those of earlier stages and boots."""

from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import PrecastError
from precast.boot.events import Result
from precast.boot.history import BootHistory
from precast.boot.modules import issues
from tests.unit.boot.modules import scratch
from tests.unit.boot.scenes import Scene, ScriptedSource, Stage, data, module


async def boot(root: Path, *modules: Any, **options: Any) -> BootHistory:
    scene = Scene(root, [ScriptedSource("source", 1, data()).now()], modules, **options)
    await scene.run()
    return BootHistory(scene.state.events())


def fail(_: Any) -> Any:
    raise issues.NO_USER.error(user="ada")


@pytest.mark.parametrize(("field", "count"), [("remark", 1), ("not_run", 2)])
async def test_module_with_nothing_to_do_is_due_again_only_if_it_says_so(
    tmp_path: Path, field: str, count: int
) -> None:
    calls = []

    def run(context: Any) -> Any:
        calls.append(field)
        setattr(context.outcome, field, "the reason")
        return context.outcome

    first = await boot(tmp_path, module("quiet", run))
    assert "the reason" in first.module_runs["quiet"].words
    await boot(tmp_path, module("quiet", run))
    assert len(calls) == count


async def test_failure_of_an_earlier_stage_makes_the_boot_incomplete(tmp_path: Path) -> None:
    modules = [module("early", fail, stage=Stage.NETWORK), module("late", stage=Stage.FINAL)]
    boot_id = tmp_path / "proc/sys/kernel/random/boot_id"
    boot_id.parent.mkdir(parents=True)
    boot_id.write_text("one\n")
    assert not (await boot(tmp_path, *modules, stage=Stage.NETWORK)).is_complete
    assert not (await boot(tmp_path, *modules, stage=Stage.FINAL)).is_complete
    # A later boot did everything that was due; it still tells what an earlier one could not do.
    boot_id.write_text("two\n")
    later = await boot(tmp_path, *modules, stage=Stage.FINAL)
    assert later.is_complete
    assert later.module_runs["early"].is_notable
    assert later.module_runs["early"].earlier_result == Result.FAILED
    assert not later.module_runs["late"].is_notable


async def test_modules_that_never_got_their_turn_are_shown(tmp_path: Path) -> None:
    history = await boot(tmp_path, module("a", after=["b"]), module("b", after=["a"]), module("free"))
    assert not history.is_complete
    assert [run.name for run in history.notable_runs] == ["a", "b"]
    assert all("not run: " in run.words for run in history.notable_runs)


def test_condition_of_power_state_that_is_not_met_counts_as_run(tmp_path: Path) -> None:
    # Without a root this changes nothing: the condition is false.
    ran = scratch.run(
        {"power_state": {"mode": "reboot", "condition": False}}, None, only=("power_state",), state=tmp_path
    )
    assert (ran.outcomes["power_state"].not_run, ran.outcomes["power_state"].remark) == (
        None,
        "its condition is not met",
    )


@pytest.mark.parametrize("name", ["snap", "lxd"])
def test_key_for_a_program_that_is_missing_fails(tmp_path: Path, name: str) -> None:
    settings: dict[str, Any] = {"snap": {"commands": ["snap install hello"]}, "lxd": {"init": {"storage_pool": "x"}}}
    error: PrecastError = scratch.run({name: settings[name]}, scratch.make_root(tmp_path), only=(name,)).errors[name]
    assert error.code == "BOOT-208"


def test_missing_program_or_value_counts_as_run(tmp_path: Path) -> None:
    """Whoever installs ssh later must not have its host keys replaced by the next boot, and the like."""
    config: dict[str, Any] = {
        "apt": {"conf": "x"},
        "yum_repos": {"a": {"baseurl": "http://a.example"}},
        "zypper": {"config": {"a": "b"}},
        "package_reboot_if_required": True,
    }
    only = ("ssh", "hostname", "passwords", "apt", "yum_repos", "zypper", "reboot_if_required")
    root = scratch.make_root(tmp_path)
    assert not (root / "etc/ssh").exists()
    ran = scratch.run(config, root, only=only)
    assert ran.errors == {}
    assert {name: outcome.not_run for name, outcome in ran.outcomes.items() if outcome.not_run} == {}
    assert {name for name, outcome in ran.outcomes.items() if outcome.remark} == {
        "ssh[host keys]", "ssh[keys]", "hostname", "passwords[debian (from the source)]", "apt", "yum_repos", "zypper",
        "reboot_if_required",
    }  # fmt: skip


def test_kinds_of_scripts_that_run_at_every_boot_are_not_run_without_any(tmp_path: Path) -> None:
    ran = scratch.run({}, scratch.make_root(tmp_path), only=("boothooks", "scripts_boot"))
    assert {outcome.not_run for outcome in ran.outcomes.values()} == {"there are no scripts of this kind"}


def test_scripts_of_the_image_that_come_later_are_too_late(tmp_path: Path) -> None:
    ran = scratch.run({}, scratch.make_root(tmp_path), only=("scripts_instance", "scripts_once"))
    for name in ("scripts_instance", "scripts_once"):
        assert (ran.outcomes[name].not_run, ran.outcomes[name].remark) == (None, "there are no scripts of this kind")
