"""The engine on a node of cells: order, refreshes, failures, no-op, skipping, waiting, and checks made ahead."""

import msgspec
import pytest

from precast.agent.applying.options import RunOptions
from precast.agent.applying.plan import PlannedResource
from precast.agent.applying.resource_memory import ResourceMemory
from precast.agent.futures.key_states import KeyState
from precast.agent.futures.run_values import RunValues
from precast.base.errors import PrecastError
from tests.unit.agent.applying.world import World, body, resource, run


def test_resources_in_sync_change_nothing() -> None:
    ran = run(body(resource("cell", "a", value="1")), {"a": "1"})
    assert ran.statuses() == {"Cell[a]": "unchanged"}
    assert ran.world.operations == []


def test_change_is_made_and_reported() -> None:
    ran = run(body(resource("cell", "a", value="1")), {"a": "0"})
    assert ran.world.cells == {"a": "1"}
    assert ran.messages("Cell[a]") == ["value changed '0' to '1'"]


def test_export_is_applied_only_if_it_is_realized() -> None:
    realized = msgspec.structs.replace(resource("cell", "a", value="1"), exported=True)
    elsewhere = msgspec.structs.replace(resource("cell", "b", value="1"), exported=True, virtual=True)
    ran = run(body(realized, elsewhere), {"a": "0", "b": "0"})
    assert ran.statuses() == {"Cell[a]": "changed"}
    assert ran.world.cells == {"a": "1", "b": "0"}


def test_check_made_ahead_is_repeated_after_a_change() -> None:
    ran = run(body(resource("cell", "a", value="1"), resource("cell", "b", copies="a")), {"a": "0", "b": "0"})
    assert ran.world.cells == {"a": "1", "b": "1"}


def test_error_of_a_check_made_ahead_is_discarded_after_a_change() -> None:
    catalog = body(resource("cell", "a", value="good"), resource("cell", "b", value="1", fails_if="a"))
    ran = run(catalog, {"a": "bad", "b": "1"})
    assert ran.statuses() == {"Cell[a]": "changed", "Cell[b]": "unchanged"}


def test_error_without_a_change_before_it_fails_the_resource() -> None:
    ran = run(body(resource("cell", "b", value="1", fails_if="a")), {"a": "bad"})
    assert ran.messages("Cell[b]") == ["Could not evaluate: cannot look"]


def test_guard_is_never_run_ahead() -> None:
    catalog = body(resource("cell", "a", value="1"), resource("command", "c", guard="a", unless="1"))
    assert run(catalog, {"a": "0"}).world.operations == ["set a=1", "guard c: a is 1"]


def test_message_does_not_discard_checks_made_ahead() -> None:
    checked: list[str] = []

    def note(planned: PlannedResource) -> bool:
        checked.append(planned.ref)
        return True

    ran = run(body(resource("message", "m"), resource("cell", "a", value="1")), {"a": "1"}, is_worth_ahead=note)
    assert ran.statuses() == {"Message[m]": "changed", "Cell[a]": "unchanged"}
    assert checked == ["Cell[a]"]


def test_subscriber_is_refreshed_once_for_all_events() -> None:
    catalog = body(
        resource("cell", "a", value="1", notify="Command[c]"),
        resource("cell", "b", value="1", notify="Command[c]"),
        resource("command", "c", refreshonly=True),
    )
    ran = run(catalog)
    assert ran.messages("Command[c]") == ["Triggered 'refresh' from 2 events"]
    assert ran.world.operations[-1] == "refresh c"


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


def test_refreshed_resource_passes_the_refresh_on() -> None:
    catalog = body(
        resource("cell", "a", value="1", notify="Command[c]"),
        resource("command", "c", refreshonly=True, notify="Command[d]"),
        resource("command", "d", refreshonly=True),
    )
    assert run(catalog).world.operations == ["set a=1", "refresh c", "refresh d"]


def test_failure_skips_dependents_through_containers_and_no_others() -> None:
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


def test_noop_changes_nothing_and_reports_pending_changes() -> None:
    catalog = body(
        resource("cell", "a", value="1", noop=False, notify="Command[c]"), resource("command", "c", refreshonly=True)
    )
    ran = run(catalog, {"a": "0"}, RunOptions(is_noop=True))
    assert ran.world.cells == {"a": "0"}
    assert ran.world.operations == []
    assert ran.messages("Cell[a]") == ["current_value '0', should be '1' (noop)"]
    assert ran.messages("Command[c]") == ["Would have triggered 'refresh' from 1 event"]


def test_noop_metaparameter_is_for_one_resource() -> None:
    ran = run(body(resource("cell", "a", value="1", noop=True), resource("cell", "b", value="1")))
    assert ran.statuses() == {"Cell[a]": "noop", "Cell[b]": "changed"}


def test_resources_without_the_tags_are_skipped() -> None:
    catalog = body(resource("cell", "a", tags=["web"], value="1"), resource("cell", "b", value="1"))
    assert run(catalog, None, RunOptions(tags=frozenset(["web"]))).world.cells == {"a": "1"}
    assert run(catalog, None, RunOptions(skip_tags=frozenset(["web"]))).world.cells == {"b": "1"}


def test_skipped_resource_does_not_hold_up_its_dependents() -> None:
    catalog = body(resource("cell", "a", value="1"), resource("cell", "b", tags=["t"], value="1", require="Cell[a]"))
    assert run(catalog, None, RunOptions(tags=frozenset(["t"]))).statuses() == {
        "Cell[a]": "skipped",
        "Cell[b]": "changed",
    }


def test_generated_resources_are_applied_with_their_parent() -> None:
    catalog = body(
        resource("cell", "t/keep", value="1"),
        resource("tree", "t", notify="Command[c]"),
        resource("command", "c", refreshonly=True),
    )
    ran = run(catalog, {"t": "x", "t/keep": "1", "t/old": "1", "t/older": "1"})
    assert ran.world.cells == {"t": "x", "t/keep": "1", "t/old": "absent", "t/older": "absent"}
    assert ran.statuses()["Tree[t]"] == "changed"
    assert ran.messages("Command[c]") == ["Triggered 'refresh' from 2 events"]


def test_purge_lists_instances_before_the_run() -> None:
    catalog = body(
        resource("cell", "kept", value="1"),
        resource("command", "c", sets={"new": "1"}, before="Resources[cell]"),
        resource("resources", "cell", purge=True),
    )
    ran = run(catalog, {"kept": "1", "old": "1"})
    assert ran.world.cells == {"kept": "1", "old": "absent", "new": "1"}


def test_type_that_cannot_be_purged_or_listed_fails_when_applied() -> None:
    catalog = body(resource("resources", "tree", purge=True), resource("resources", "gadget", purge=True))
    assert run(catalog).statuses() == {"Resources[tree]": "failed", "Resources[gadget]": "failed"}
    assert run(body(resource("resources", "tree", purge=False))).statuses() == {"Resources[tree]": "unchanged"}


def test_resource_with_a_missing_future_waits_and_does_not_fail() -> None:
    future = {"__ptype": "Precast::Future", "__pvalue": "db"}
    catalog = body(resource("cell", "a", value=future), resource("cell", "b", value="1", require="Cell[a]"))
    assert run(catalog).statuses() == {"Cell[a]": "waiting", "Cell[b]": "waiting"}
    values = RunValues([KeyState("db", "db1", "fulfilled", value=b'"9"', is_standing=True)])
    text = {"__ptype": "Precast::Text", "__pvalue": ["port ", future]}
    assert run(body(resource("cell", "a", value=text)), values=values).world.cells == {"a": "port 9"}


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_reference_to_a_secret_without_its_value_fails_alone_and_is_never_used_as_a_value(is_wrapped: bool) -> None:
    reference = {"__ptype": "Precast::Secret", "__pvalue": "5ec4e7"}
    value = {"__ptype": "Sensitive", "__pvalue": reference} if is_wrapped else reference
    ran = run(body(resource("cell", "a", value=value), resource("cell", "b", value="1")))
    assert ran.statuses() == {"Cell[a]": "failed", "Cell[b]": "changed"}
    assert ran.world.cells == {"b": "1"}
    assert "the secret 5ec4e7 cannot be used: its value is not on this node" in ran.messages("Cell[a]")[0]


def test_promise_of_the_same_node_is_available_to_later_resources() -> None:
    future = {"__ptype": "Precast::Future", "__pvalue": "db"}
    catalog = body(resource("promise", "db", value="9"), resource("cell", "a", value=future))
    assert run(catalog, None, RunOptions(is_noop=True)).statuses() == {"Promise[db]": "noop", "Cell[a]": "waiting"}
    assert run(catalog).world.cells == {"a": "9"}


def test_unknown_type_fails_alone_with_a_clear_message() -> None:
    ran = run(body(resource("gadget", "g"), resource("cell", "a", value="1")))
    assert ran.statuses() == {"Gadget[g]": "failed", "Cell[a]": "changed"}
    assert "does not implement the type gadget, and this node has no Puppet" in ran.messages("Gadget[g]")[0]


def test_wrong_parameter_fails_alone() -> None:
    ran = run(body(resource("cell", "x", broken=True), resource("cell", "a", value="1")))
    assert ran.statuses() == {"Cell[x]": "failed", "Cell[a]": "changed"}


def test_cycle_is_refused_before_anything_is_done() -> None:
    world = World()
    with pytest.raises(PrecastError) as caught:
        run(body(resource("cell", "a", require="Cell[b]"), resource("cell", "b", require="Cell[a]")), world)
    assert caught.value.code == "CATALOG-002"
    assert world.operations == []


def test_change_that_undoes_a_foreign_change_is_corrective() -> None:
    memory = ResourceMemory()
    first = run(body(resource("cell", "a", value="1")), {"a": "0"}, memory=memory)
    assert not first.reports[0].events[0].corrective
    memory._states.update(memory._new_states)
    again = run(body(resource("cell", "a", value="1")), {"a": "9"}, memory=memory)
    assert again.reports[0].events[0].corrective
    wish = run(body(resource("cell", "a", value="2")), {"a": "1"}, memory=memory)
    assert not wish.reports[0].events[0].corrective


def test_audit_reports_changes_since_the_last_run() -> None:
    memory = ResourceMemory()
    catalog = body(resource("tree", "a", audit="all"))
    run(catalog, {"a": "1"}, memory=memory)
    memory._states.update(memory._new_states)
    ran = run(catalog, {"a": "2"}, memory=memory)
    assert ran.messages("Tree[a]") == ["audit change: previously recorded value '1' has been changed to '2'"]
    assert ran.statuses() == {"Tree[a]": "unchanged"}


def test_graph_ordering_keeps_relationships() -> None:
    cells = [resource("command", f"c{number}") for number in range(20)]
    catalog = body(*cells, resource("command", "last", require=[f"Command[c{number}]" for number in range(20)]))
    ran = run(catalog, None, RunOptions(ordering="graph"))
    assert ran.world.operations[-1] == "run last"
    assert len(ran.reports) == 21


def test_graph_ordering_runs_independent_resources_concurrently_except_under_a_lock() -> None:
    meetings = [resource("meeting", f"m{number}") for number in range(2)]
    locked = [resource("locked", f"l{number}") for number in range(30)]
    ran = run(body(*meetings, *locked), None, RunOptions(ordering="graph"))
    assert set(ran.statuses().values()) == {"changed"}


def test_guards_are_not_run_in_noop_if_disabled() -> None:
    ran = run(body(resource("command", "c", guard="a")), {}, RunOptions(is_noop=True, runs_guards=False))
    assert ran.world.operations == []
    assert ran.statuses() == {"Command[c]": "waiting"}
