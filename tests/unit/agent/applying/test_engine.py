"""The engine on a node of cells: order, refreshes, failures, no-op, exclusion, waiting, and what is checked ahead."""

import pytest

from precast.agent.applying.memory import Memory
from precast.agent.applying.options import Options
from precast.agent.applying.planning import Planned
from precast.base.errors import PrecastError
from tests.unit.agent.applying.world import World, body, resource, run


def test_resources_in_sync_change_nothing() -> None:
    ran = run(body(resource("cell", "a", value="1")), {"a": "1"})
    assert ran.statuses() == {"Cell[a]": "unchanged"}
    assert ran.world.deeds == []


def test_change_is_made_and_said() -> None:
    ran = run(body(resource("cell", "a", value="1")), {"a": "0"})
    assert ran.world.cells == {"a": "1"}
    assert ran.messages("Cell[a]") == ["value changed '0' to '1'"]


def test_what_was_checked_ahead_is_checked_again_after_a_change() -> None:
    ran = run(body(resource("cell", "a", value="1"), resource("cell", "b", copies="a")), {"a": "0", "b": "0"})
    assert ran.world.cells == {"a": "1", "b": "1"}


def test_error_seen_ahead_is_forgotten_after_a_change() -> None:
    catalog = body(resource("cell", "a", value="good"), resource("cell", "b", value="1", fails_if="a"))
    ran = run(catalog, {"a": "bad", "b": "1"})
    assert ran.statuses() == {"Cell[a]": "changed", "Cell[b]": "unchanged"}


def test_error_without_a_change_before_it_fails_the_resource() -> None:
    ran = run(body(resource("cell", "b", value="1", fails_if="a")), {"a": "bad"})
    assert ran.messages("Cell[b]") == ["Could not evaluate: cannot look"]


def test_guard_runs_only_in_its_turn() -> None:
    catalog = body(resource("cell", "a", value="1"), resource("command", "c", guard="a", unless="1"))
    assert run(catalog, {"a": "0"}).world.deeds == ["set a=1", "guard c: a is 1"]


def test_message_is_no_barrier() -> None:
    checked: list[str] = []

    def note(planned: Planned) -> bool:
        checked.append(planned.ref)
        return True

    ran = run(body(resource("message", "m"), resource("cell", "a", value="1")), {"a": "1"}, is_worth_ahead=note)
    assert ran.statuses() == {"Message[m]": "changed", "Cell[a]": "unchanged"}
    assert checked == ["Cell[a]"]


def test_refresh_reaches_who_subscribes_once_for_all_events() -> None:
    catalog = body(
        resource("cell", "a", value="1", notify="Command[c]"),
        resource("cell", "b", value="1", notify="Command[c]"),
        resource("command", "c", refreshonly=True),
    )
    ran = run(catalog)
    assert ran.messages("Command[c]") == ["Triggered 'refresh' from 2 events"]
    assert ran.world.deeds[-1] == "refresh c"


def test_refresh_goes_through_containers_as_one_event() -> None:
    catalog = body(
        resource("class", "Source"),
        resource("class", "Target"),
        resource("cell", "a", value="1"),
        resource("cell", "b", value="1"),
        resource("command", "c", refreshonly=True, subscribe="Class[Source]"),
        resource("command", "d", refreshonly=True),
        resource("message", "quiet"),
        resource("cell", "e", value="1", notify="Class[Target]"),
        edges=[("Class[Source]", "Cell[a]"), ("Class[Source]", "Cell[b]"), ("Class[Target]", "Command[d]")],
    )
    ran = run(catalog)
    assert ran.messages("Command[c]") == ["Triggered 'refresh' from 1 event"]
    assert ran.messages("Command[d]") == ["Triggered 'refresh' from 1 event"]


def test_refresh_is_a_change_for_what_follows() -> None:
    catalog = body(
        resource("message", "m", notify="Command[c]"),
        resource("command", "c", refreshonly=True, sets={"a": "2"}),
        resource("cell", "b", copies="a"),
    )
    assert run(catalog, {"a": "1", "b": "1"}).world.cells["b"] == "2"


def test_refresh_is_handed_on_by_who_was_refreshed() -> None:
    catalog = body(
        resource("cell", "a", value="1", notify="Command[c]"),
        resource("command", "c", refreshonly=True, notify="Command[d]"),
        resource("command", "d", refreshonly=True),
    )
    assert run(catalog).world.deeds == ["set a=1", "refresh c", "refresh d"]


def test_failure_skips_dependents_through_containers_and_nobody_else() -> None:
    catalog = body(
        resource("class", "X"),
        resource("cell", "a", value="1", breaks=True),
        resource("cell", "b", value="1", require="Class[X]"),
        resource("cell", "c", value="1", require="Cell[b]"),
        resource("cell", "d", value="1"),
        edges=[("Class[X]", "Cell[a]")],
    )
    ran = run(catalog)
    assert ran.statuses() == {
        "Cell[a]": "failed", "Cell[b]": "skipped", "Cell[c]": "skipped", "Cell[d]": "changed",
    }  # fmt: skip
    reasons = {report.resource: report.reason for report in ran.reports}
    assert reasons["Cell[c]"] == "it depends on Cell[a], which failed"
    assert ran.messages("Cell[a]") == ["change from 'absent' to '1' failed: no room"]


def test_failed_resource_sends_no_refresh_and_failed_refresh_is_a_failure() -> None:
    catalog = body(
        resource("cell", "a", value="1", breaks=True),
        resource("command", "c", refreshonly=True, subscribe="Cell[a]"),
        resource("message", "m", notify="Command[d]"),
        resource("command", "d", refreshonly=True, breaks=True),
        resource("cell", "e", value="1", require="Command[d]"),
    )
    statuses = run(catalog).statuses()
    assert statuses["Command[c]"] == "skipped"
    assert statuses["Command[d]"] == "failed"
    assert statuses["Cell[e]"] == "skipped"


def test_noop_changes_nothing_and_says_what_would_happen() -> None:
    catalog = body(
        resource("cell", "a", value="1", noop=False, notify="Command[c]"), resource("command", "c", refreshonly=True)
    )
    ran = run(catalog, {"a": "0"}, Options(is_noop=True))
    assert ran.world.cells == {"a": "0"}
    assert ran.world.deeds == []
    assert ran.messages("Cell[a]") == ["current_value '0', should be '1' (noop)"]
    assert ran.messages("Command[c]") == ["Would have triggered 'refresh' from 1 event"]


def test_noop_metaparameter_is_for_one_resource() -> None:
    ran = run(body(resource("cell", "a", value="1", noop=True), resource("cell", "b", value="1")))
    assert ran.statuses() == {"Cell[a]": "noop", "Cell[b]": "changed"}


def test_tags_leave_out_what_has_none_of_them() -> None:
    catalog = body(resource("cell", "a", tags=["web"], value="1"), resource("cell", "b", value="1"))
    assert run(catalog, None, Options(tags=frozenset(["web"]))).world.cells == {"a": "1"}
    assert run(catalog, None, Options(skip_tags=frozenset(["web"]))).world.cells == {"b": "1"}


def test_what_is_left_out_keeps_nobody_waiting() -> None:
    catalog = body(resource("cell", "a", value="1"), resource("cell", "b", tags=["t"], value="1", require="Cell[a]"))
    assert run(catalog, None, Options(tags=frozenset(["t"]))).statuses() == {"Cell[a]": "skipped", "Cell[b]": "changed"}


def test_recursion_is_a_change_in_the_parents_place() -> None:
    catalog = body(
        resource("cell", "t/keep", value="1"),
        resource("tree", "t", notify="Command[c]"),
        resource("command", "c", refreshonly=True),
    )
    ran = run(catalog, {"t": "x", "t/keep": "1", "t/old": "1", "t/older": "1"})
    assert ran.world.cells == {"t": "x", "t/keep": "1", "t/old": "absent", "t/older": "absent"}
    assert ran.statuses()["Tree[t]"] == "changed"
    assert ran.messages("Command[c]") == ["Triggered 'refresh' from 2 events"]


def test_purging_lists_what_is_there_before_the_run() -> None:
    catalog = body(
        resource("cell", "kept", value="1"),
        resource("command", "c", sets={"new": "1"}, before="Resources[cell]"),
        resource("resources", "cell", purge=True),
    )
    ran = run(catalog, {"kept": "1", "old": "1"})
    assert ran.world.cells == {"kept": "1", "old": "absent", "new": "1"}


def test_type_that_cannot_be_purged_or_listed_fails_in_its_turn() -> None:
    catalog = body(resource("resources", "tree", purge=True), resource("resources", "gadget", purge=True))
    assert run(catalog).statuses() == {"Resources[tree]": "failed", "Resources[gadget]": "failed"}
    assert run(body(resource("resources", "tree", purge=False))).statuses() == {"Resources[tree]": "unchanged"}


def test_future_that_is_not_there_makes_waiting_not_failing() -> None:
    future = {"__ptype": "Precast::Future", "__pvalue": "db"}
    catalog = body(resource("cell", "a", value=future), resource("cell", "b", value="1", require="Cell[a]"))
    assert run(catalog).statuses() == {"Cell[a]": "waiting", "Cell[b]": "waiting"}
    memory = Memory()
    memory.promise("db", "9")
    text = {"__ptype": "Precast::Text", "__pvalue": ["port ", future]}
    assert run(body(resource("cell", "a", value=text)), memory=memory).world.cells == {"a": "port 9"}


def test_promise_of_the_same_node_is_there_for_what_comes_after_it() -> None:
    future = {"__ptype": "Precast::Future", "__pvalue": "db"}
    catalog = body(resource("promise", "db", value="9"), resource("cell", "a", value=future))
    assert run(catalog, None, Options(is_noop=True)).statuses() == {"Promise[db]": "noop", "Cell[a]": "waiting"}
    assert run(catalog).world.cells == {"a": "9"}


def test_type_that_is_not_there_fails_alone_with_a_clear_word() -> None:
    ran = run(body(resource("gadget", "g"), resource("cell", "a", value="1")))
    assert ran.statuses() == {"Gadget[g]": "failed", "Cell[a]": "changed"}
    assert "gadget" in ran.messages("Gadget[g]")[0]


def test_wrong_parameter_fails_alone() -> None:
    ran = run(body(resource("cell", "x", broken=True), resource("cell", "a", value="1")))
    assert ran.statuses() == {"Cell[x]": "failed", "Cell[a]": "changed"}


def test_cycle_is_refused_before_anything_is_done() -> None:
    world = World()
    with pytest.raises(PrecastError) as caught:
        run(body(resource("cell", "a", require="Cell[b]"), resource("cell", "b", require="Cell[a]")), world)
    assert caught.value.code == "CATALOG-002"
    assert world.deeds == []


def test_change_that_undoes_what_somebody_did_is_corrective() -> None:
    memory = Memory()
    first = run(body(resource("cell", "a", value="1")), {"a": "0"}, memory=memory)
    assert not first.reports[0].events[0].corrective
    memory._states.update(memory._new_states)
    again = run(body(resource("cell", "a", value="1")), {"a": "9"}, memory=memory)
    assert again.reports[0].events[0].corrective
    wish = run(body(resource("cell", "a", value="2")), {"a": "1"}, memory=memory)
    assert not wish.reports[0].events[0].corrective


def test_audit_says_what_changed_since_the_last_run() -> None:
    memory = Memory()
    catalog = body(resource("tree", "a", audit="all"))
    run(catalog, {"a": "1"}, memory=memory)
    memory._states.update(memory._new_states)
    ran = run(catalog, {"a": "2"}, memory=memory)
    assert ran.messages("Tree[a]") == ["audit change: previously recorded value '1' has been changed to '2'"]
    assert ran.statuses() == {"Tree[a]": "unchanged"}


def test_graph_ordering_keeps_relationships() -> None:
    cells = [resource("command", f"c{number}") for number in range(20)]
    catalog = body(*cells, resource("command", "last", require=[f"Command[c{number}]" for number in range(20)]))
    ran = run(catalog, None, Options(ordering="graph"))
    assert ran.world.deeds[-1] == "run last"
    assert len(ran.reports) == 21


def test_graph_ordering_runs_at_the_same_time_what_nothing_orders_and_no_lock_holds_apart() -> None:
    meetings = [resource("meeting", f"m{number}") for number in range(2)]
    locked = [resource("locked", f"l{number}") for number in range(30)]
    ran = run(body(*meetings, *locked), None, Options(ordering="graph"))
    assert set(ran.statuses().values()) == {"changed"}


def test_guards_are_not_run_in_noop_if_so_wished() -> None:
    ran = run(body(resource("command", "c", guard="a")), {}, Options(is_noop=True, runs_guards=False))
    assert ran.world.deeds == []
    assert ran.statuses() == {"Command[c]": "waiting"}
