"""The net of an expansion has readable names, and grows with instances and dependencies, not with pairs of nodes."""

from precast.net.exchange.pnml_writer import write_pnml
from precast.plans.expansion import expand
from precast.plans.model import InstanceKey, PlanNode
from precast.plans.plan_net import NO_PLACE, build_plan_net, find_canaries
from tests.unit.plans.example_plans import SHOP, SHOP_NODES, across, plan_of, task


def count_arcs(nodes: int) -> int:
    plan = plan_of(
        task("first", selectors=("x",), required_for=("half",)),
        task("half", "stage"),
        task("all", selectors=("x",), requires=("half",), cross_depends=(across("first"),)),
        task("any", selectors=("x",), cross_depends=(across("first", is_any=True),)),
        task("always", selectors=("x",), is_always=True, cross_depends=(across("all"), across("any", is_any=True))),
    )
    net, _ = build_plan_net(expand(plan, [PlanNode(f"n{number}", ("x",)) for number in range(nodes)]))
    return sum(
        len(transition.takes) + len(transition.reads) + len(transition.holds) + len(transition.gives)
        for transition in net.declared.transitions
    )


def test_net_grows_in_proportion_to_the_nodes() -> None:
    assert count_arcs(40) - count_arcs(20) == count_arcs(60) - count_arcs(40)


def test_transitions_are_the_instances_in_order_then_the_joints() -> None:
    expansion = expand(SHOP, SHOP_NODES)
    net, _ = build_plan_net(expansion)
    names = [transition.name for transition in net.declared.transitions]
    keys = [instance.key for instance in expansion.instances]
    assert names[0] == "stage start"
    assert names[keys.index(InstanceKey(4, "db1"))] == "database on db1"
    assert [name for name in names[len(keys) :] if not name.startswith("all ")] == []
    assert "netconfig on db2: done" in net.places_by_name
    assert "web: slots" in net.places_by_name


def test_places_are_numbered_as_in_the_net() -> None:
    expansion = expand(SHOP, SHOP_NODES)
    net, places = build_plan_net(expansion)
    keys = [instance.key for instance in expansion.instances]
    web = keys.index(InstanceKey(7, "web2"))
    assert net.place_name(places.to_do[web]) == "web on web2: to do"
    assert net.place_name(places.nodes["web2"]) == "node web2"
    assert net.place_name(places.slots[7]) == "web: slots"
    assert [net.place_name(place) for place in places.list_holds(keys[web])] == ["node web2", "web: slots"]
    assert net.place_name(places.approved[9]) == "smoke: approved"
    canary = keys.index(InstanceKey(7, expansion.canaries[7]))
    assert net.place_name(places.canaries[canary]) == "web: canary passed"
    assert places.ended[keys.index(InstanceKey(10, "db1"))] == NO_PLACE
    assert places.list_ends(keys.index(InstanceKey(10, "db1"))) == []


def test_task_whose_instances_are_all_skipped_has_no_canary() -> None:
    expansion = expand(SHOP, SHOP_NODES)
    skipped = {instance.key for instance in expansion.instances if instance.key.task == 7}
    assert find_canaries(expansion, skipped) == {}
    assert set(find_canaries(expansion)) == {7}


def test_net_of_a_plan_can_be_exchanged() -> None:
    net, _ = build_plan_net(expand(SHOP, SHOP_NODES))
    assert "database on db1" in write_pnml(net)
