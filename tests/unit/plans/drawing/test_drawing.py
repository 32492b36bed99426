"""Drawings show tasks with their tests and states, what waits for what and how, and nothing twice."""

import re
from xml.etree import ElementTree

from precast.plans.drawing.colours import STATES, TYPES
from precast.plans.drawing.dot import write_dot
from precast.plans.drawing.node_picture import make_node_picture
from precast.plans.drawing.picture import PlanPicture, TaskArrow, TaskBox, make_picture
from precast.plans.drawing.svg import write_svg
from precast.plans.expansion import expand
from precast.plans.model import Plan, PlanGroup, PlanNode, Position
from precast.plans.views.dependencies import list_dependencies
from precast.plans.views.graph import find_implied
from precast.wire.plans import states
from tests.unit.plans.example_plans import SHOP, SHOP_NODES, across, plan_of, task

SVG = "{http://www.w3.org/2000/svg}"


def picture(plan: Plan = SHOP, *, shows_all: bool = False) -> PlanPicture:
    return make_picture(plan, list_dependencies(plan), shows_all=shows_all)


def names_of(shown: PlanPicture) -> list[tuple[str, str, str]]:
    return [(arrow.kind, shown.boxes[arrow.source].name, shown.boxes[arrow.target].name) for arrow in shown.arrows]


def box(shown: PlanPicture, name: str) -> TaskBox:
    return next(item for item in shown.boxes if item.name == name)


def texts_of(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_picture_has_each_dependency_once_with_the_kind_that_means_most_nodes() -> None:
    shown = names_of(picture(shows_all=True))
    assert ("need", "netconfig", "web") in shown
    assert ("cross", "upload", "copy") in shown
    assert ("any", "database", "web") in shown
    assert len({pair[1:] for pair in shown}) == len(shown)
    both = plan_of(
        task("a", selectors=("x",)), task("b", selectors=("x",), requires=("a",), cross_depends=(across("a", "x"),))
    )
    assert names_of(picture(both)) == [("cross", "a", "b")]


def test_picture_leaves_out_what_a_longer_way_implies_and_says_so() -> None:
    every, fewer = names_of(picture(shows_all=True)), names_of(picture())
    assert set(every) - set(fewer) == {("need", "start", "end"), ("need", "netconfig", "end"), ("need", "web", "end")} | {
        # netconfig → database → web
        ("need", "netconfig", "web"), ("need", "database", "end"),
    }  # fmt: skip
    assert picture().notes[0] == "left out because longer ways imply them: 5 arrows"


def test_picture_of_a_box_has_its_tests_marks_and_condition() -> None:
    shown = picture()
    assert box(shown, "database").before == (
        "command ends with 0: test -d /var/lib/mysql",
        "127.0.0.1:3306 accepts connections",
    )
    assert box(shown, "database").marks == ("one by one",)
    assert box(shown, "web").marks == ("50% at once", "canary")
    assert box(shown, "smoke").marks == ("approval",)
    assert (box(shown, "clean-up").marks, box(shown, "clean-up").condition) == (("always",), "$.cleans")
    assert shown.notes[-1] == "group web: up to 50% of its nodes may fail"


def test_picture_says_what_each_tolerance_means() -> None:
    at = Position("g.yaml", 1, 1)
    tolerances = {"0": "none", "0%": "none", "2": "up to 2", "5%": "up to 5%", "-1": "all but 1", None: "any number"}
    for tolerance, words in tolerances.items():
        group = PlanGroup("g", at, ("r", "s"), ("a",), tolerance)
        (note,) = picture(plan_of(task("a", selectors=("r",)), groups=(group,))).notes
        assert note == f"group g (r, s): {words} of its nodes may fail, adds a"


def test_picture_of_an_expansion_has_only_the_dependencies_between_its_nodes() -> None:
    plan = plan_of(task("a", selectors=("x",)), task("b", selectors=("y",), requires=("a",)))
    apart = expand(plan, [PlanNode("n1", ("x",)), PlanNode("n2", ("y",))])
    assert names_of(make_picture(plan, apart.dependencies)) == []
    assert names_of(picture(plan)) == [("need", "a", "b")]


def test_implied_edges_are_those_with_a_longer_way_and_none_where_there_is_a_cycle() -> None:
    assert find_implied(3, [(0, 1), (1, 2), (0, 2)]) == {2}
    assert find_implied(4, [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)]) == {4}
    assert find_implied(3, [(0, 1), (1, 0), (0, 2), (1, 2)]) == set()


def test_svg_is_well_formed_and_shows_every_task_with_its_gates() -> None:
    svg = write_svg(picture())
    assert {task.id for task in SHOP.tasks} <= set(texts_of(svg))
    assert {"one by one", "canary", "if", "×2", "manifest · db"} <= set(texts_of(svg))
    # Gates: netconfig after, database before and after, web after; one more in the legend.
    assert svg.count('<polygon class="gate"') == 5
    assert svg.count('class="line any"') == 2  # the arrow, and the legend


def test_svg_escapes_names_and_shows_no_control_characters() -> None:
    svg = write_svg(picture(plan_of(task("<script>\x1b[31m", selectors=("&\u202e",)))))
    assert "<script>\\u{1b}[31m" in "".join(texts_of(svg))
    assert "\x1b" not in svg
    assert "\u202e" not in svg


def test_svg_with_states_colours_by_what_needs_attention_first_and_counts_in_words() -> None:
    counts = {"database": {states.SUCCESSFUL: 1, states.FAILED: 1}, "web": {states.RUNNING: 1, states.PENDING: 2}}
    svg = write_svg(make_picture(SHOP, list_dependencies(SHOP), counts))
    assert "1 successful, 1 failed" in texts_of(svg)
    boxes = {
        group.findtext(f"{SVG}title", "").split("\n")[0]: group.find(f"{SVG}rect")
        for group in ElementTree.fromstring(svg).iter(f"{SVG}g")
    }
    fills = {name: rect.get("fill") for name, rect in boxes.items() if rect is not None}
    assert fills["database"] == STATES[states.FAILED].ground
    assert fills["web"] == STATES[states.RUNNING].ground
    assert fills["netconfig"] == TYPES["manifest"].ground


def test_svg_draws_arrows_that_join_a_longer_one_only_up_to_there() -> None:
    # The arrows from e and f to the end cross the rows of b, c and d together.
    chain = (("a", ()), ("b", ("a",)), ("c", ("b",)), ("d", ("c",)), ("end", ("d",)))
    plan = plan_of(
        *(task(name, selectors=("x",), requires=needs) for name, needs in chain),
        *(task(name, selectors=("x",), requires=("a",), required_for=("end",)) for name in ("e", "f")),
    )
    heads = re.findall(r'class="line need" d="[^"]*"( marker-end)?', write_svg(picture(plan)))
    assert len(heads) == 1 + 8  # with the legend
    assert heads.count("") == 1


def test_every_type_and_state_has_a_colour() -> None:
    assert set(STATES) == set(states.ORDER)
    for kind in TYPES:
        write_svg(PlanPicture("p", (TaskBox("t", kind),), ()))
    for state in states.ORDER:
        write_svg(PlanPicture("p", (TaskBox("t", "shell", states=((state, 3),)),), ()))


def test_long_names_and_many_roles_are_broken_and_counted() -> None:
    roles = ("primary-controller", "controller", "compute", "cinder")
    svg = write_svg(picture(plan_of(task("primary-openstack-network-plugins-l2", selectors=roles))))
    shown = texts_of(svg)
    assert {"primary-openstack-", "network-plugins-l2", "manifest · primary-controller +3"} <= set(shown)


def test_dot_names_kinds_of_arrows_and_counts_tests() -> None:
    dot = write_dot(picture(name_of_quotes()))
    assert dot.startswith('digraph "a \\"b\\"" {')
    assert 'label="database\\nmanifest · db\\none by one\\n2 tests before, 1 test after"' in write_dot(picture())
    assert re.search(r"t3 -> t6 \[style=dotted .*label=any\];", write_dot(picture()))


def name_of_quotes() -> Plan:
    return plan_of(task("t", selectors=("x",)), name='a "b"')


def test_picture_of_a_node_has_its_tasks_and_those_elsewhere_that_they_wait_for() -> None:
    expansion = expand(SHOP, SHOP_NODES)
    shown = make_node_picture(expansion, "web2", {"web": states.FAILED})
    elsewhere = {(item.name, item.roles) for item in shown.boxes if item.kind == "other"}
    assert elsewhere == {
        ("upload", ("boss",)), ("database", ("db1", "db2")), ("web", ("web1", "web3")), ("smoke", ("boss",))
    }  # fmt: skip
    assert [item.name for item in shown.boxes if item.kind != "other"] == [
        "start", "end", "netconfig", "copy", "web", "balancer", "clean-up",
    ]  # fmt: skip
    failed = next(item for item in shown.boxes if item.name == "web" and item.kind != "other")
    assert failed.states == ((states.FAILED, 1),)
    ways = names_of(shown)
    assert ("cross", "web", "balancer") in ways
    assert ("need", "web", "balancer") in ways
    assert TaskArrow("need", 0, 1) not in shown.arrows  # implied by the tasks between


def test_picture_of_a_node_counts_many_other_nodes() -> None:
    plan = plan_of(task("a", selectors=("*",)), task("b", selectors=("x",), cross_depends=(across("a"),)))
    nodes = [PlanNode("one", ("x",)), *(PlanNode(f"n{number}", ("y",)) for number in range(9))]
    shown = make_node_picture(expand(plan, nodes), "one")
    assert [item.roles for item in shown.boxes if item.kind == "other"] == [("9 nodes",)]
