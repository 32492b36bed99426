"""Exports: a graph with the reason of every edge, a net that other tools read, and the steps of each node."""

import msgspec

from precast.net.analysis.check import check as check_net
from precast.net.analysis.deadlock import Verdict
from precast.net.exchange.pnml_reader import read_pnml
from precast.plans.expansion import expand
from precast.plans.export import build_course, export_graph, export_pnml
from precast.plans.model import InstanceKey
from precast.plans.views.script import write_script
from precast.plans.views.steps import Step, StepValues, make_steps
from tests.unit.plans.example_plans import SHOP, SHOP_NODES, plan_of, task

EXPANSION = expand(SHOP, SHOP_NODES)


def test_graph_has_tasks_with_nodes_edges_with_reasons_and_an_order() -> None:
    graph = export_graph(EXPANSION)
    tasks = {item.id: item for item in graph.tasks}
    assert tasks["web"].nodes == ["web1", "web2", "web3"]
    assert (tasks["web"].canary, tasks["database"].at_once, tasks["start"].nodes) == ("web1", 1, [])
    edges = {(edge.task, edge.waits_for): edge for edge in graph.edges}
    edge = edges["web", "database"]
    assert (edge.kind, edge.nodes, edge.needed_on) == ("any node", ["web1", "web2", "web3"], ["db1", "db2"])
    assert [(reason.field, reason.at.line) for reason in edge.reasons] == [("cross-depends", 40)]
    assert len(edges) == len({(found.task, found.needed) for found in EXPANSION.dependencies})
    places = {pair: place for place, pair in enumerate(graph.order)}
    assert places["database", "db1"] < places["web", "web2"] < places["balancer", "web1"]
    assert [(group.group, group.tolerate) for group in graph.groups] == [("web", 1), ("", 0)]
    assert msgspec.json.decode(msgspec.json.encode(graph))["plan"] == "web-shop"


def test_net_is_read_back_as_the_same() -> None:
    net = read_pnml("plan.pnml", export_pnml(EXPANSION).encode())
    assert net.declared == build_course(EXPANSION).declared
    assert "web on web2" in net.transitions_by_name


def test_net_of_a_plan_with_one_of_everything_gets_stuck_nowhere() -> None:
    report = check_net(read_pnml("plan.pnml", export_pnml(EXPANSION).encode()))
    assert (report.deadlock.verdict, report.findings) == (Verdict.FREE, ())


def of_place(steps: list[Step]) -> dict[tuple[int, str], list[str]]:
    found: dict[tuple[int, str], list[str]] = {}
    for step in steps:
        found.setdefault((step.level, step.node), []).append(step.task)
    return found


def test_steps_are_in_order_by_level_and_node() -> None:
    found = make_steps(EXPANSION)
    places = of_place(found.steps)
    assert places[1, "db1"] == ["netconfig", "database"]
    assert places[7, "boss"] == ["smoke", "clean-up"]
    assert found.levels == 8
    assert [step.level for step in found.steps] == sorted(step.level for step in found.steps)
    database = next(step for step in found.steps if step.task == "database")
    assert len(database.before) == 2
    assert database.work is not None
    assert database.work.text == "puppet apply --detailed-exitcodes --modulepath /etc/puppet/modules /etc/puppet/db.pp"
    assert database.waits_for == ["netconfig (same node)"]


def test_steps_that_are_left_out_keep_the_order_of_the_others() -> None:
    left_out = {InstanceKey(7, node) for node in ("web1", "web2", "web3")}
    found = make_steps(EXPANSION, StepValues(left_out=left_out))
    assert "web" not in {step.task for step in found.steps}
    levels = {step.task: step.level for step in found.steps}
    assert levels["copy"] < levels["balancer"] < levels["smoke"]
    assert found.levels == max(levels.values()) == 5


def test_steps_with_values_have_filled_in_tasks_and_no_condition_that_is_known() -> None:
    plan = plan_of(
        task(
            "a",
            "shell",
            selectors=("web",),
            parameters={"cmd": {"yaql_exp": "$.cmd"}},
            condition=SHOP.tasks[-1].condition,
        )
    )
    expansion, key = expand(plan, SHOP_NODES), InstanceKey(1, "web1")
    filled = msgspec.structs.replace(plan.tasks[0], parameters={"cmd": "echo web1"})
    known, unknown, _ = make_steps(expansion, StepValues({}, {key: filled}, {key})).steps
    assert known.work is not None
    assert (known.work.text, known.condition) == ("cd / || exit 1; echo web1", "")
    assert unknown.work is not None
    assert "has not been evaluated" in unknown.work.obstacle
    assert unknown.condition == "$.cleans"


def test_script_states_levels_tolerances_and_waits_and_has_one_function_for_like_nodes() -> None:
    plan = plan_of(
        *(task(name, "shell", selectors=("*",), parameters={"cmd": f"echo {name}"}) for name in ("one", "two")),
    )
    script = write_script(make_steps(expand(plan, SHOP_NODES)))
    assert script.count("() {\n") == 5 + 2  # of the frame, and of the tasks
    assert "# level 1: boss db1 db2 web1 web2 web3" in script
    assert "# of the 6 nodes in no group, none may fail before nothing else is started" in script
    whole = write_script(make_steps(EXPANSION))
    assert "# of the 3 nodes of the group web, 1 may fail before nothing else is started" in whole
    assert "# It waits for netconfig (same node), database (any node), copy (same node)." in whole
    assert "# It is meant to run only if: $.cleans" in whole


def test_script_lets_no_name_or_text_out_of_its_place() -> None:
    plan = plan_of(
        task("a\nrm", "shell", selectors=("*",), parameters={"cmd": "echo '$(id)'"}, approval="sure?\n`id`"),
        name="p\nrm -rf /",
    )
    script = write_script(make_steps(expand(plan, SHOP_NODES[:1])))
    assert not [line for line in script.splitlines() if line.startswith("rm")]
    assert "'sure?\\u{a}`id`'" in script
