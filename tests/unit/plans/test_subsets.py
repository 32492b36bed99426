"""A choice of tasks and nodes chooses exactly their instances; a name that matches nothing, or a choice of nothing, is an error."""

import pytest

from precast.base.errors import InputError, Issue, PrecastError
from precast.plans import issues
from precast.plans.expansion import expand
from precast.plans.model import Expansion, PlanGroup, PlanNode, Position, Subset
from precast.plans.subsets import choose_instances
from precast.wire.jobs.programs import CommandTest
from tests.unit.plans.example_plans import across, plan_of, task

NODES = [PlanNode("n1", ("x",)), PlanNode("n2", ("x", "y"))]
PLAN = plan_of(
    task("start", "stage"),
    task("net", selectors=("x",), requires=("start",), reexecute_on=("deploy_changes",)),
    task("db", selectors=("y",), requires=("net",), refresh_on=("db_config", "/tls_.*/")),
    task("web", selectors=("x",), cross_depends=(across("db"),), required_for=("end",)),
    task("aside", selectors=("x",), requires=("start",), refresh_on=("*",)),
    task("nothing", "skipped", selectors=("x",), requires=("web",)),
    task("end", "stage"),
    task("smoke", selectors=("y",), requires=("end",)),
    groups=(PlanGroup("hosts", Position("web.yaml", 1, 1), ("x",)),),
)


@pytest.fixture(scope="module")
def expansion() -> Expansion:
    return expand(PLAN, NODES)


def choose(expansion: Expansion, **fields: tuple[str, ...]) -> dict[str, str]:
    """The chosen nodes of each task."""
    chosen: dict[str, list[str]] = {}
    for index in choose_instances(expansion, Subset(**fields)):
        key = expansion.instances[index].key
        chosen.setdefault(expansion.plan.tasks[key.task - 1].id, []).append(key.node)
    return {name: " ".join(sorted(nodes)) for name, nodes in chosen.items()}


BOTH = "n1 n2"
ALL = {"net": BOTH, "db": "n2", "web": BOTH, "aside": BOTH, "nothing": BOTH, "smoke": "n2"}


def without(*names: str) -> dict[str, str]:
    return {name: nodes for name, nodes in ALL.items() if name not in names}


@pytest.mark.parametrize(
    ("fields", "chosen"),
    [
        ({}, ALL),
        ({"start": ("db",)}, without("net", "aside")),
        ({"end": ("web",)}, {"net": BOTH, "db": "n2", "web": BOTH}),
        ({"start": ("db",), "end": ("web",)}, {"db": "n2", "web": BOTH}),
        ({"start": ("end",)}, {"smoke": "n2"}),
        ({"start": ("start",), "end": ("end",)}, {"net": BOTH, "db": "n2", "web": BOTH}),
        ({"start": ("db", "aside")}, without("net")),
        ({"start": ("db",), "end": ("db",)}, {"db": "n2"}),
        ({"only": ("db", "smoke")}, {"db": "n2", "smoke": "n2"}),
        ({"only": ("/.*b$/",)}, {"db": "n2", "web": BOTH}),
        ({"skip": ("/.*b$/", "aside")}, without("db", "web", "aside")),
        ({"only": ("db", "web"), "skip": ("web",)}, {"db": "n2"}),
        ({"nodes": ("n1",)}, {"net": "n1", "web": "n1", "aside": "n1", "nothing": "n1"}),
        ({"nodes": ("/n/",), "only": ("net",)}, {"net": BOTH}),
        ({"events": ("deploy_changes",)}, {"net": BOTH, "aside": BOTH}),
        ({"events": ("tls_keys",)}, {"db": "n2", "aside": BOTH}),
        ({"events": ("db_config", "deploy_changes"), "skip": ("aside",)}, {"net": BOTH, "db": "n2"}),
        ({"events": ("something",)}, {"aside": BOTH}),
    ],
)
def test_choice_has_exactly_the_instances_it_describes(
    expansion: Expansion, fields: dict[str, tuple[str, ...]], chosen: dict[str, str]
) -> None:
    assert choose(expansion, **fields) == chosen


@pytest.mark.parametrize(
    ("fields", "issue", "text"),
    [
        ({"only": ("wbe",)}, issues.UNKNOWN_TASK, "did you mean web?"),
        ({"skip": ("/zz/",)}, issues.UNKNOWN_TASK, "/zz/ matches no task"),
        ({"start": ("hosts",)}, issues.NOT_A_TASK, "hosts is a group"),
        ({"only": ("start",)}, issues.NOT_A_TASK, "start is a stage"),
        ({"skip": ("/st/",)}, issues.NOT_A_TASK, "/st/ is a pattern of stages"),
        ({"nodes": ("n3",)}, issues.UNKNOWN_NODE, "n3 matches no node"),
        ({"start": ("web",), "end": ("net",)}, issues.EMPTY_SUBSET, "from web; to net"),
        ({"only": ("db",), "nodes": ("n1",)}, issues.EMPTY_SUBSET, "only db; nodes n1"),
        ({"only": ("nothing",)}, issues.EMPTY_SUBSET, "only nothing"),
        ({"end": ("start",)}, issues.EMPTY_SUBSET, "to start"),
        ({"only": ("/(?i)x/",)}, issues.BAD_PATTERN, "(?i)x"),
    ],
)
def test_name_that_matches_nothing_and_choice_of_nothing_are_errors(
    expansion: Expansion, fields: dict[str, tuple[str, ...]], issue: Issue, text: str
) -> None:
    with pytest.raises(InputError) as caught:
        choose(expansion, **fields)
    assert issue.matches(caught.value)
    assert text in str(caught.value)


def test_event_that_no_task_names_is_an_error() -> None:
    expansion = expand(plan_of(task("a", selectors=("x",), reexecute_on=("deploy_changes",))), NODES)
    with pytest.raises(PrecastError) as caught:
        choose(expansion, events=("deploy_change",))
    assert issues.UNKNOWN_EVENT.matches(caught.value)
    assert "did you mean deploy_changes?" in str(caught.value)


def test_what_follows_a_task_somewhere_is_chosen_everywhere() -> None:
    plan = plan_of(task("a", selectors=("y",)), task("b", selectors=("x",), requires=("a",)))
    assert choose(expand(plan, NODES), start=("a",)) == {"a": "n2", "b": "n1 n2"}


def test_choice_of_nothing_but_tests_has_something_to_do() -> None:
    plan = plan_of(task("look", "skipped", selectors=("x",), test_pre=(CommandTest(cmd="true"),)))
    assert choose(expand(plan, NODES), only=("look",)) == {"look": "n1 n2"}


def test_plan_without_tasks_has_nothing_to_choose() -> None:
    assert choose_instances(expand(plan_of(), NODES), Subset()) == set()
