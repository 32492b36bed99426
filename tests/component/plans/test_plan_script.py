"""The script of a plan, run by a real shell on made-up nodes: order, tests as gates, repetitions, failures and approvals."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from precast.plans.expansion import expand
from precast.plans.model import PlanNode, PlanTask
from precast.plans.views.script import write_script
from precast.plans.views.steps import make_steps
from precast.wire.jobs.programs import CommandTest
from tests.unit.plans.example_plans import across, plan_of, task

NODES = [PlanNode("n1", ("x",)), PlanNode("n2", ("x",))]


class Site:
    """A script in a directory, whose tasks write their names into the file `log`."""

    def __init__(self, directory: Path, *tasks: PlanTask) -> None:
        self._directory, self._file = directory, directory / "plan.sh"
        steps = make_steps(expand(plan_of(*tasks), NODES))
        self.levels = steps.levels
        self._file.write_text(write_script(steps), encoding="utf-8")

    def run(self, node: str, level: int, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", str(self._file), node, str(level), *words],
            env={"PATH": "/usr/bin:/bin", "DIR": str(self._directory), **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    @property
    def log(self) -> list[str]:
        log = self._directory / "log"
        return log.read_text(encoding="utf-8").split() if log.exists() else []


def shell(name: str, cmd: str = "true", **fields: Any) -> PlanTask:
    text = f'echo {name}-$NODE >> "$DIR/log"; {cmd}'
    return task(name, "shell", selectors=("x",), parameters={"cmd": text}, **fields)


def test_script_runs_the_steps_of_a_node_and_level_in_order(tmp_path: Path) -> None:
    site = Site(tmp_path, shell("a"), shell("b", requires=("a",)), shell("c", cross_depends=(across("b"),)))
    assert site.levels == 2
    assert [site.run("n2", 1).returncode, site.run("n1", 1).returncode, site.run("n1", 2).returncode] == [0, 0, 0]
    assert site.log == ["a-n2", "b-n2", "a-n1", "b-n1", "c-n1"]
    assert "n3 has no steps in level 1" in site.run("n3", 1).stdout
    assert site.run("n1", 1).stdout.splitlines() == ["== a on n1", "== b on n1"]


def test_script_without_its_arguments_says_its_usage(tmp_path: Path) -> None:
    Site(tmp_path, shell("a"))
    done = subprocess.run(["/bin/sh", str(tmp_path / "plan.sh"), "n1"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "usage: sh FILE NODE LEVEL" in done.stderr


@pytest.mark.parametrize(("when", "log"), [("test_pre", ["a-n1"]), ("test_post", ["a-n1", "b-n1"])])
def test_test_that_fails_ends_the_node_before_or_after_its_task(tmp_path: Path, when: str, log: list[str]) -> None:
    tests: dict[str, Any] = {when: (CommandTest(cmd="false"),)}
    gated = shell("b", requires=("a",), **tests)
    site = Site(tmp_path, shell("a"), gated, shell("c", requires=("b",)))
    done = site.run("n1", 1)
    assert (done.returncode, site.log) == (1, log)
    assert "failed: b on n1" in done.stderr


def test_failure_lets_only_tasks_run_that_run_always(tmp_path: Path) -> None:
    site = Site(
        tmp_path,
        shell("a", "exit 3"),
        shell("b", requires=("a",)),
        shell("c", requires=("b",), is_always=True),
        shell("d", cross_depends=(across("c"),)),
        shell("e", cross_depends=(across("d"),), is_always=True),
    )
    assert site.run("n1", 1).returncode == 1
    assert site.log == ["a-n1", "c-n1"]
    assert [site.run("n1", level, "always").returncode for level in (2, 3)] == [0, 0]
    assert site.log == ["a-n1", "c-n1", "e-n1"]


def test_failure_of_a_task_that_may_fail_does_not_count(tmp_path: Path) -> None:
    site = Site(tmp_path, shell("a", "exit 3", fail_on_error=False), shell("b", requires=("a",)))
    assert site.run("n1", 1).returncode == 0
    assert site.log == ["a-n1", "b-n1"]


def test_task_and_test_are_repeated_until_they_succeed(tmp_path: Path) -> None:
    flaky = shell("a", '[ -e "$DIR/once" ] || { touch "$DIR/once"; exit 1; }', retries=2, interval_s=0.0)
    assert Site(tmp_path, flaky).run("n1", 1).returncode == 0
    later = CommandTest(cmd='[ -e "$DIR/seen" ] || { touch "$DIR/seen"; exit 1; }', within_s=30.0)
    site = Site(tmp_path, shell("b", test_pre=(later,)))
    assert site.run("n1", 1).returncode == 0
    assert site.log == ["a-n1", "a-n1", "b-n1"]


def test_step_without_a_command_fails_and_says_why(tmp_path: Path) -> None:
    done = Site(tmp_path, task("a", "task", selectors=("x",), parameters={"task": "mysql::backup"})).run("n1", 1)
    assert (done.returncode, "mysql::backup is a task of a module" in done.stderr) == (1, True)


def test_task_that_a_person_must_approve_waits_for_that(tmp_path: Path) -> None:
    site = Site(tmp_path, shell("a", approval="Is `it` ready?"))
    refused = site.run("n1", 1)
    assert (refused.returncode, site.log) == (1, [])
    assert 'a person must approve a: Is `it` ready? (then set APPROVED="a")' in refused.stderr
    assert site.run("n1", 1, APPROVED="x a").returncode == 0
    assert site.log == ["a-n1"]
