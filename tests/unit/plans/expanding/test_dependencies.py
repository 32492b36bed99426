"""Fields of tasks make dependencies between the right instances, as Fuel has them."""

from typing import Any

import pytest

from precast.base.errors import InputError, LimitedError
from precast.plans import issues
from precast.plans.expanding import dependencies as dependencies_module
from precast.plans.expansion import expand
from precast.plans.model import (
    SYNC_NODE,
    ComputedResult,
    CrossDependency,
    Expansion,
    Plan,
    PlanGroup,
    PlanNode,
    PlanTask,
    Position,
    TaskInput,
)
from tests.unit.plans.example_plans import across, plan_of, task

NODES = [PlanNode("a", ("x",)), PlanNode("b", ("x", "y")), PlanNode("c", ("y",))]


def waits_of(expansion: Expansion) -> dict[str, set[str]]:
    """By instance, `task node`, what it waits for; of a set of which one is enough as `one of …`."""

    def name(index: int) -> str:
        task, node = expansion.instances[index].key
        return f"{expansion.plan.tasks[task - 1].id} {node}".strip()

    waits: dict[str, set[str]] = {}
    for index, instance in enumerate(expansion.instances):
        needed = {*instance.needs, *(member for joint in instance.joins for member in expansion.joints[joint])}
        sets = {f"one of {', '.join(sorted(map(name, members)))}" for members in instance.needs_any}
        waits[name(index)] = {name(member) for member in needed} | sets
    return waits


def expand_over(*tasks: PlanTask) -> dict[str, set[str]]:
    return waits_of(expand(plan_of(*tasks), NODES))


def run(name: str, *selectors: str, **fields: Any) -> PlanTask:
    return task(name, "shell", selectors=selectors, **fields)


def stage(name: str, **fields: Any) -> PlanTask:
    return task(name, "stage", **fields)


@pytest.mark.parametrize(
    "tasks",
    [
        (run("first", "x"), run("then", "*", requires=("first",))),
        (run("first", "x", required_for=("then",)), run("then", "*")),
        (run("first", "x", required_for=("then",)), run("then", "*", requires=("first",))),
        (run("first", "x"), run("then", "*", cross_depends=(across("first", "self"),))),
        (run("first", "x", cross_depended_by=(across("then", "self"),)), run("then", "*")),
        (run("first", "x"), run("then", "*", requires=("/fi/",))),
    ],
)
def test_local_field_means_the_same_node(tasks: tuple[PlanTask, ...]) -> None:
    assert expand_over(*tasks) == {
        "first a": set(),
        "first b": set(),
        "then a": {"first a"},
        "then b": {"first b"},
        "then c": set(),
    }


def test_stage_waits_for_its_tasks_on_all_nodes_and_tasks_on_all_nodes_for_it() -> None:
    assert expand_over(
        stage("start"), run("work", "x", requires=("start",), required_for=("end",)), stage("end", requires=("start",))
    ) == {"start": set(), "work a": {"start"}, "work b": {"start"}, "end": {"start", "work a", "work b"}}


def test_stage_can_name_its_tasks_itself() -> None:
    assert expand_over(stage("start", required_for=("work",)), run("work", "x"), stage("end", requires=("work",))) == {
        "start": set(),
        "work a": {"start"},
        "work b": {"start"},
        "end": {"work a", "work b"},
    }


def test_cross_dependency_means_the_nodes_of_the_role() -> None:
    assert expand_over(run("db", "*"), run("web", "x", cross_depends=(across("db", "y"),))) == {
        "db a": set(),
        "db b": set(),
        "db c": set(),
        "web a": {"db b", "db c"},
        "web b": {"db b", "db c"},
    }


def test_cross_dependency_without_a_role_means_all_nodes() -> None:
    waits = expand_over(run("db", "y"), run("web", "x", cross_depends=(CrossDependency("db"),)))
    assert waits["web a"] == waits["web b"] == {"db b", "db c"}


def test_reverse_cross_dependency_lets_the_nodes_of_the_role_wait() -> None:
    assert expand_over(run("db", "x", cross_depended_by=(across("web", "x"),)), run("web", "*")) == {
        "db a": set(),
        "db b": set(),
        "web a": {"db a", "db b"},
        "web b": {"db a", "db b"},
        "web c": set(),
    }


def test_cross_dependency_on_null_means_stages() -> None:
    assert expand_over(
        stage("start"),
        run(
            "web",
            "x",
            cross_depends=(CrossDependency("/st/", None),),
            cross_depended_by=(CrossDependency("end", None),),
        ),
        run("start-up", "x"),
        stage("end"),
    ) == {
        "start": set(),
        "web a": {"start"},
        "web b": {"start"},
        "start-up a": set(),
        "start-up b": set(),
        "end": {"web a", "web b"},
    }


def test_cross_dependency_with_any_needs_one_of_the_nodes() -> None:
    assert expand_over(run("db", "*"), run("web", "x", cross_depends=(across("db", "y", is_any=True),))) == {
        "db a": set(),
        "db b": set(),
        "db c": set(),
        "web a": {"one of db b, db c"},
        "web b": {"one of db b, db c"},
    }


def test_any_of_one_node_is_that_node() -> None:
    waits = expand_over(run("db", "*"), run("web", "y", cross_depends=(across("db", "x", is_any=True),)))
    assert waits["web b"] == {"one of db a, db b"}
    waits = waits_of(
        expand(plan_of(run("db", "*"), run("web", "*", cross_depends=(across("db", "x", is_any=True),))), NODES[:1])
    )
    assert waits["web a"] == {"db a"}


def test_pattern_in_a_cross_dependency_means_every_task_that_matches() -> None:
    waits = expand_over(run("db-1", "y"), run("db-2", "a", "y"), run("web", "x", cross_depends=(across("/db/", "y"),)))
    assert waits["web a"] == {"db-1 b", "db-1 c", "db-2 b", "db-2 c"}


def test_task_never_waits_for_itself() -> None:
    waits = expand_over(run("web", "x", requires=("web", "/.*/"), cross_depends=(across("web"), across("/w/", "self"))))
    assert waits == {"web a": set(), "web b": set()}


def test_task_that_names_itself_on_some_nodes_lets_the_others_follow() -> None:
    waits = expand_over(run("web", "*", cross_depends=(across("web", "y"),)))
    assert waits == {"web a": {"web b", "web c"}, "web b": set(), "web c": set()}
    waits = expand_over(run("web", "*", cross_depended_by=(across("web", "y"),)))
    assert waits == {"web a": set(), "web b": {"web a"}, "web c": {"web a"}}


def test_input_implies_the_dependency() -> None:
    waits = expand_over(
        run("key", "y"),
        run("own", "*"),
        run("web", "x", inputs={"key": TaskInput("key", role=("y",)), "own": TaskInput("own")}),
    )
    assert waits["web a"] == {"key b", "key c", "own a"}
    assert waits["web b"] == {"key b", "key c", "own b"}


def test_name_of_no_task_is_dropped_with_a_warning_that_suggests_another() -> None:
    expansion = expand(
        plan_of(run("database", "x"), run("web", "x", requires=("databse",), cross_depends=(across("/^nothing/"),))),
        NODES,
    )
    assert waits_of(expansion)["web a"] == set()
    warnings = [(problem.code, problem.text) for problem in expansion.warnings]
    assert [code for code, _ in warnings] == [issues.UNKNOWN_DEPENDENCY.code] * 2
    assert "task web names databse in requires" in warnings[0][1]
    assert "did you mean database?" in warnings[0][1]
    assert "/^nothing/ in cross-depends" in warnings[1][1]
    assert expansion.warnings[0].at == task("web").at


def test_name_of_a_task_that_is_on_other_nodes_is_dropped_without_a_warning() -> None:
    expansion = expand(plan_of(run("db", "x"), run("web", "y", requires=("db",))), [NODES[0], NODES[2]])
    assert waits_of(expansion) == {"db a": set(), "web c": set()}
    assert expansion.warnings == []


def test_name_of_a_group_is_dropped_with_its_own_warning() -> None:
    plan = plan_of(run("web", "x", requires=("hosts",)), groups=(PlanGroup("hosts", Position("p", 1, 1), ("x",)),))
    assert [problem.code for problem in expand(plan, NODES).warnings] == [issues.GROUP_AS_TASK.code]


@pytest.mark.parametrize("role", [("self",), ("*",), ("x",)])
def test_stage_named_on_nodes_is_dropped_with_a_warning(role: tuple[str, ...]) -> None:
    expansion = expand(plan_of(stage("start"), run("web", "x", cross_depends=(across("start", *role),))), NODES)
    assert waits_of(expansion)["web a"] == set()
    assert [problem.code for problem in expansion.warnings] == [issues.STAGE_OF_ROLE.code]


def test_computed_dependencies_count_on_their_nodes_alone() -> None:
    plan = plan_of(run("db", "*"), run("web", "*"), stage("end"))
    computed = [
        ComputedResult(2, "requires", ("a",), names=("db",)),
        ComputedResult(2, "cross_depends", ("b",), dependencies=(across("db", "y"),)),
        ComputedResult(2, "required_for", ("b", "elsewhere"), names=("end",)),
        ComputedResult(1, "cross_depended_by", ("c",), dependencies=(across("web", "x"),)),
    ]
    assert waits_of(expand(plan, NODES, computed)) == {
        "db a": set(),
        "db b": set(),
        "db c": set(),
        "web a": {"db a", "db c"},
        "web b": {"db b", "db c"},
        "web c": set(),
        "end": {"web b"},
    }


def test_pattern_that_is_not_supported_fails_the_expansion() -> None:
    with pytest.raises(InputError) as caught:
        expand(plan_of(run("web", "x", requires=("/(?=a)/",))), NODES)
    assert issues.BAD_PATTERN.matches(caught.value)


def test_dependencies_between_many_nodes_are_stored_once() -> None:
    nodes = [PlanNode(f"n{number:03}", ("x",)) for number in range(200)]
    plan: Plan = plan_of(
        run("first", "x"),
        run("all", "x", cross_depends=(across("first"),)),
        run("any", "x", cross_depends=(across("first", is_any=True),)),
    )
    expansion = expand(plan, nodes)
    assert [len(members) for members in expansion.joints] == [200]
    later = [instance for instance in expansion.instances if instance.key.task == 2]
    assert {instance.joins for instance in later} == {(0,)}
    sets = [instance.needs_any[0] for instance in expansion.instances if instance.key.task == 3]
    assert len({id(members) for members in sets}) == 1
    assert all(instance.key.node != SYNC_NODE for instance in expansion.instances)


def test_plan_in_which_too_much_waits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies_module, "MAX_WAITS", 20)
    tasks = [run(f"t{number}", "*", requires=("/t0/", "/t1/")) for number in range(5)]
    with pytest.raises(LimitedError) as caught:
        expand(plan_of(*tasks), NODES)
    assert str(caught.value) == "the plan has 21 waits of tasks for others, more than the limit of 20"


def test_task_waits_for_all_that_produce_what_it_consumes() -> None:
    plan = plan_of(
        run("first", "x", produces=("db.password",)),
        run("second", "y", produces=("db.password", "other")),
        run("then", "z", consumes=("db.password",)),
    )
    waits = waits_of(expand(plan, [*NODES, PlanNode("d", ("z",))]))
    assert waits["then d"] == {"first a", "first b", "second b", "second c"}


def test_key_that_no_task_produces_is_a_warning() -> None:
    expansion = expand(plan_of(run("then", "x", consumes=("db.password",))), NODES)
    assert [problem.code for problem in expansion.warnings] == ["PLAN-059"]
    assert "consumes db.password, which no task of the plan produces" in expansion.warnings[0].text


def test_task_that_consumes_what_it_produces_waits_for_the_others_only() -> None:
    waits = expand_over(run("both", "x", produces=("k",), consumes=("k",)), run("other", "y", produces=("k",)))
    assert waits["both a"] == {"other b", "other c"}
