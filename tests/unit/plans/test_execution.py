"""A run starts what may begin, in order and within its limits, and finds what can never begin after a failure."""

import gc
import weakref
from collections.abc import Iterable
from typing import Any

import pytest

from precast.plans import execution as execution_module
from precast.plans.execution import PlanExecution
from precast.plans.expansion import expand
from precast.plans.model import InstanceKey, PlanGroup, PlanNode, PlanTask, Position
from precast.plans.plan_net import PlanLimits
from precast.plans.users import Status
from tests.unit.plans.example_plans import across, plan_of, task

NODES = [PlanNode("a", ("x",)), PlanNode("b", ("x",)), PlanNode("c", ("x", "y"))]
DONE, FAILED, DROPPED = Status.DONE, Status.FAILED, Status.DROPPED


class Run:
    """A run with the names of tasks instead of their numbers."""

    def __init__(
        self, *tasks: PlanTask, tolerance: str | None = None, at_once: int | None = None, **given: Any
    ) -> None:
        groups = (PlanGroup("x", Position("p.yaml", 1, 1), ("x",), fault_tolerance=tolerance),)
        self.expansion = expand(plan_of(*tasks, groups=groups), given.pop("nodes", NODES))
        self.numbers = {task.id: number for number, task in enumerate(tasks, 1)}
        skipped = {self.key(name) for name in given.pop("skipped", ())}
        statuses = {self.key(name): status for name, status in given.pop("statuses", {}).items()}
        self.execution = PlanExecution(self.expansion, statuses, PlanLimits(at_once), skipped=skipped, **given)

    def key(self, name: str) -> InstanceKey:
        task, node = name.split()
        return InstanceKey(self.numbers[task], node)

    def start(self) -> list[str]:
        """Start everything that may begin."""
        started = []
        while (key := self.execution.start_next()) is not None:
            started.append(self.name(key))
        return started

    def end(self, status: Status, *names: str) -> list[str]:
        """End instances, and start everything that may begin then."""
        for name in names:
            self.execution.end(self.key(name), status)
        return self.start()

    def take_unreachable(self) -> list[str]:
        return [f"{self.name(key)} < {self.name(cause)}" for key, cause in self.execution.take_unreachable()]

    def name(self, key: InstanceKey) -> str:
        return f"{self.expansion.plan.tasks[key.task - 1].id} {key.node}"

    def names(self, keys: Iterable[InstanceKey]) -> list[str]:
        return [self.name(key) for key in keys]


def run(name: str, *selectors: str, **fields: Any) -> PlanTask:
    return task(name, "shell", selectors=selectors or ("x",), **fields)


def test_node_does_one_task_at_a_time_in_the_order_of_the_plan() -> None:
    plan = Run(run("one"), run("two"), run("three", "y"))
    assert plan.start() == ["one a", "one b", "one c"]
    assert plan.names(plan.execution.running) == ["one a", "one b", "one c"]
    assert plan.end(DONE, "one c", "one a") == ["two a", "two c"]
    assert plan.end(DONE, "two c") == ["three c"]
    assert plan.end(DONE, "three c", "one b") == ["two b"]
    assert not plan.execution.is_over
    assert plan.end(DONE, "two a", "two b") == []
    assert plan.execution.is_over


def test_limits_of_a_task_and_of_the_run_hold() -> None:
    plan = Run(run("one", at_once=2), run("two"))
    assert plan.start() == ["one a", "one b", "two c"]
    assert plan.end(DONE, "one b") == ["two b"]
    assert plan.end(DONE, "two c") == ["one c"]
    plan = Run(run("one"), run("two"), at_once=2)
    assert plan.start() == ["one a", "one b"]
    assert plan.end(DONE, "one a") == ["one c"]


def test_limit_that_is_overdrawn_at_a_takeover_lets_nothing_begin_until_enough_has_ended() -> None:
    plan = Run(run("one", at_once=1), statuses={"one a": Status.RUNNING, "one b": Status.RUNNING})
    assert plan.start() == []
    assert plan.end(DONE, "one a") == []
    assert plan.end(DONE, "one b") == ["one c"]


def test_stage_joins_all_nodes_and_waits_only_for_ends() -> None:
    plan = Run(run("one", required_for=("half",)), task("half", "stage"), run("two", requires=("half",)))
    assert plan.start() == ["one a", "one b", "one c"]
    assert plan.end(DONE, "one a") == []
    assert plan.end(FAILED, "one b") == []
    assert plan.take_unreachable() == ["two b < one b"]
    assert plan.end(DONE, "one c") == ["two a", "two c"]


def test_dependents_of_a_failure_are_unreachable_with_the_root_as_their_cause() -> None:
    plan = Run(
        run("db", "y"),
        run("web", cross_depends=(across("db"),)),
        run("smoke", requires=("web",)),
        run("aside"),
        nodes=[*NODES, PlanNode("d")],
    )
    assert plan.start() == ["db c", "aside a", "aside b"]
    assert plan.end(FAILED, "db c") == []
    assert sorted(plan.take_unreachable()) == [
        "aside c < db c", "smoke a < db c", "smoke b < db c", "smoke c < db c",
        "web a < db c", "web b < db c", "web c < db c",
    ]  # fmt: skip
    assert plan.take_unreachable() == []
    plan.end(DONE, "aside a", "aside b")
    assert plan.execution.is_over


def test_failure_that_does_not_matter_is_told_as_done_and_lets_dependents_go_on() -> None:
    plan = Run(run("db", "y"), run("web", cross_depends=(across("db"),)))
    plan.start()
    assert plan.end(DONE, "db c") == ["web a", "web b", "web c"]


def test_one_of_several_is_enough_until_all_have_failed() -> None:
    plan = Run(run("db"), run("web", "y", cross_depends=(across("db", is_any=True),)))
    plan.start()
    assert plan.end(FAILED, "db a") == []
    assert plan.take_unreachable() == []
    assert plan.end(DONE, "db b") == []
    assert plan.end(DONE, "db c") == ["web c"]
    plan = Run(
        run("db", "x"), run("web", "*", cross_depends=(across("db", "x", is_any=True),)), nodes=[*NODES, PlanNode("d")]
    )
    plan.start()
    plan.end(FAILED, "db a", "db b", "db c")
    assert plan.take_unreachable() == ["web a < db a", "web b < db b", "web c < db c", "web d < db c"]


def test_run_halts_when_more_nodes_of_a_group_have_failed_than_it_tolerates() -> None:
    plan = Run(run("one"), run("two"), run("clean", is_always=True, requires=("two",)), tolerance="1")
    plan.start()
    assert plan.end(FAILED, "one a") == ["clean a"]
    assert not plan.execution.is_halted
    assert plan.end(FAILED, "clean a") == [], "the same node counts once"
    assert not plan.execution.is_halted
    assert plan.end(FAILED, "one b") == ["clean b"]
    assert plan.execution.is_halted
    assert plan.end(DONE, "one c") == []
    assert plan.end(DROPPED, "two c") == ["clean c"], "what can no longer begin is ended by the driver"


def test_node_in_no_group_is_critical() -> None:
    plan = Run(run("one", "*"), nodes=[*NODES, PlanNode("d")])
    plan.start()
    plan.end(FAILED, "one a", "one b", "one c")
    assert not plan.execution.is_halted
    plan.end(FAILED, "one d")
    assert plan.execution.is_halted


def test_task_that_runs_always_waits_for_ends_on_failed_nodes_too() -> None:
    plan = Run(run("one"), run("two", requires=("one",)), run("clean", requires=("two",), is_always=True))
    plan.start()
    assert plan.end(FAILED, "one a") == ["clean a"]
    assert plan.take_unreachable() == ["two a < one a"]
    assert plan.end(DONE, "one b") == ["two b"]
    assert plan.end(FAILED, "two b") == ["clean b"]


def test_canary_is_first_and_the_others_follow_only_its_success() -> None:
    plan = Run(run("one", has_canary=True))
    assert plan.start() == ["one a"]
    assert plan.end(DONE, "one a") == ["one b", "one c"]
    plan = Run(run("one", has_canary=True), run("two", has_canary=True, is_always=True))
    assert plan.start() == ["one a"]
    assert plan.end(FAILED, "one a") == ["two a"]
    assert plan.take_unreachable() == ["one b < one a", "one c < one a"]
    assert plan.end(FAILED, "two a") == []
    assert plan.take_unreachable() == ["two b < two a", "two c < two a"]


def test_first_instance_that_is_not_skipped_is_the_canary() -> None:
    plan = Run(run("one", has_canary=True), skipped=("one a",))
    assert plan.start() == ["one a", "one b"]
    assert plan.end(DONE, "one a") == []
    assert plan.end(DONE, "one b") == ["one c"]


def test_person_lets_a_task_go_once_for_all_nodes() -> None:
    plan = Run(run("one", approval="Is it dark?"), run("two", requires=("one",)))
    assert plan.start() == []
    plan.execution.approve(2)
    assert plan.start() == []
    plan.execution.approve(1)
    plan.execution.approve(1)
    assert plan.start() == ["one a", "one b", "one c"]
    assert Run(run("one", approval="Is it dark?"), approved=[1]).start() == ["one a", "one b", "one c"]


def test_skipped_instance_keeps_its_place_and_needs_nothing() -> None:
    plan = Run(
        run("busy", "y"),
        run("one", approval="?", at_once=1, requires=("busy",)),
        run("two", requires=("one",)),
        skipped=("one a", "one b", "one c"),
    )
    assert plan.start() == ["busy c", "one a", "one b"]
    assert plan.end(DONE, "one a", "one b") == ["two a", "two b"]
    assert plan.end(DONE, "busy c") == ["one c"]
    assert plan.end(DONE, "one c") == ["two c"]


def test_skipped_instance_behind_a_failure_is_unreachable_with_its_dependents() -> None:
    plan = Run(
        run("db", "y"),
        run("web", "y", requires=("db",)),
        run("smoke", cross_depends=(across("web"),)),
        skipped=("web c",),
    )
    plan.start()
    plan.end(FAILED, "db c")
    assert plan.take_unreachable() == ["web c < db c", "smoke c < db c", "smoke a < db c", "smoke b < db c"]


def test_instances_of_nodes_that_are_away_wait_for_them_and_hold_up_nobody_else() -> None:
    plan = Run(run("one", at_once=1), run("two"), run("three", "y"), skipped=("two b",))
    assert plan.start() == ["one a", "two b", "two c"]
    plan.execution.postpone(plan.key("one a"))
    plan.execution.hold(["a", "b"])
    assert plan.names(plan.execution.away) == ["one a", "one b", "two a"]
    assert plan.execution.waiting_nodes == {"c"}
    assert plan.end(DONE, "two b", "two c") == ["one c"]
    assert not plan.execution.return_nodes(["c", "nobody"])
    assert plan.execution.return_nodes(["a"])
    assert plan.start() == ["two a"]
    assert plan.end(DONE, "one c", "two a") == ["one a", "three c"]
    assert not plan.execution.return_nodes(["a"])
    plan.end(DONE, "one a", "three c")
    assert not plan.execution.is_over
    assert not plan.execution.has_waiting
    plan.execution.return_nodes(["b"])
    assert plan.start() == ["one b"]
    plan.end(DONE, "one b")
    assert plan.execution.is_over


def test_skipped_instance_waits_for_no_node_that_is_away() -> None:
    plan = Run(run("one"), run("two", "y", cross_depends=(across("one"),)), skipped=("one a", "one b"))
    plan.execution.hold(["a", "b"])
    assert plan.start() == ["one a", "one b", "one c"]
    assert plan.end(DONE, "one a", "one b", "one c") == ["two c"]


def test_turn_taken_back_on_a_node_that_has_failed_meanwhile_is_unreachable() -> None:
    plan = Run(run("one"), run("two"))
    plan.start()
    plan.execution.end(plan.key("two a"), FAILED)
    plan.execution.postpone(plan.key("one a"))
    assert plan.take_unreachable() == ["one a < two a"]


def test_end_that_is_known_changes_nothing() -> None:
    plan = Run(run("one"), run("two", requires=("one",)))
    plan.start()
    assert plan.end(DONE, "one a") == ["two a"]
    assert plan.end(FAILED, "one a") == []
    assert plan.take_unreachable() == []
    plan.execution.end(InstanceKey(9, "a"), FAILED)
    assert not plan.execution.is_halted


def test_unreachable_instances_come_in_parts_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution_module, "MAX_UNREACHABLE", 4)
    nodes = [PlanNode(f"n{number}", ("x",)) for number in range(5)] + [PlanNode("db", ("db",))]
    plan = Run(run("db", "db"), run("web", cross_depends=(across("db"),)), run("smoke", requires=("web",)), nodes=nodes)
    plan.start()
    plan.end(FAILED, "db db")
    parts = []
    while part := plan.take_unreachable():
        parts.append(len(part))
        assert plan.start() == []
    assert parts == [4, 4, 2]


def test_run_that_is_not_going_begins_only_what_runs_always() -> None:
    plan = Run(run("one"), run("clean", is_always=True), is_going=False)
    assert plan.start() == ["clean a", "clean b", "clean c"]


def test_server_that_takes_over_finds_what_a_stored_failure_makes_unreachable() -> None:
    tasks = (run("one"), run("two", requires=("one",)), run("three", "y", cross_depends=(across("two"),)))
    plan = Run(*tasks, statuses={"one a": FAILED, "one b": DONE, "two b": Status.RUNNING, "one c": Status.AWAY})
    assert plan.take_unreachable() == ["two a < one a", "three c < one a"]
    assert plan.start() == []
    assert plan.end(DONE, "two b") == []
    assert plan.execution.return_nodes(["c"])
    assert plan.start() == ["one c"]


def test_run_that_is_dropped_frees_its_memory_without_the_collector() -> None:
    """A server leaves large runs out of garbage collection, so cycles would stay in its memory."""
    tasks = [task("first"), task("second", requires=("first",)), task("third", cross_depends=(across("second"),))]
    run = Run(*tasks, tolerance="1")
    gc.disable()
    try:
        run.start()
        run.execution.end(run.key("first a"), FAILED)
        run.execution.hold(["b"])
        run.execution.take_unreachable()
        freed = weakref.ref(run.execution)
        del run
        assert freed() is None
    finally:
        gc.enable()
