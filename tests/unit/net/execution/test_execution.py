"""The rule of firing, case by case: conflicts, weights, reads, capacities, outcomes, order."""

from collections.abc import Callable

import pytest

from precast.base import canonical
from precast.base.errors import Issue, PrecastError
from precast.net import issues
from precast.net.execution.execution import Execution
from precast.net.model.builder import Builder
from precast.net.model.compiler import compile_net
from precast.net.model.declarations import NetDeclaration, Outcome, Place, Transition
from precast.net.model.structure import Net


def names(net: Net, transitions: list[int]) -> list[str]:
    return [net.transition_name(t) for t in transitions]


def run(execution: Execution) -> list[str]:
    """Start and end everything, one after the other."""
    order = []
    while (t := execution.start_next()) is not None:
        order.append(execution.net.transition_name(t))
        execution.finish(t)
    return order


def test_conflict_over_one_token_goes_to_the_one_declared_first() -> None:
    builder = Builder()
    builder.place("token", 1)
    builder.transition("second", takes=["token"])
    builder.transition("first", takes=["token"])
    assert run(Execution(builder.build())) == ["second"]


def test_conflict_with_a_priority_goes_to_the_higher() -> None:
    builder = Builder()
    builder.place("token", 1)
    builder.transition("ordinary", takes=["token"])
    builder.transition("urgent", takes=["token"], priority=1)
    assert run(Execution(builder.build())) == ["urgent"]


def test_weighted_arc_waits_for_all_its_tokens() -> None:
    builder = Builder()
    builder.place("source", 3)
    builder.place("pool")
    builder.transition("fill", takes=["source"], gives=["pool"])
    builder.transition("drain", takes={"pool": 3})
    assert run(Execution(builder.build())) == ["fill", "fill", "fill", "drain"]


def test_read_arc_tests_and_leaves_the_token() -> None:
    builder = Builder()
    builder.place("window", 1)
    builder.place("work", 2)
    builder.transition("act", takes=["work"], reads=["window"])
    builder.transition("close", takes=["window"], priority=-1)
    execution = Execution(builder.build())
    assert run(execution) == ["act", "act", "close"]


def test_read_beside_take_of_the_same_place_wants_both() -> None:
    builder = Builder()
    builder.place("stock", 2)
    builder.transition("take one if one stays", takes=["stock"], reads=["stock"])
    execution = Execution(builder.build())
    assert run(execution) == ["take one if one stays"]
    assert execution.tokens[0] == 1


def test_transition_with_tokens_for_two_runs_twice_at_once() -> None:
    builder = Builder()
    builder.place("jobs", 2)
    builder.transition("work", takes=["jobs"])
    execution = Execution(builder.build())
    assert [execution.start_next(), execution.start_next(), execution.start_next()] == [0, 0, None]
    assert execution.running == {0: 2}


def test_capacity_is_reserved_at_the_start_so_that_the_end_never_waits() -> None:
    builder = Builder()
    builder.place("jobs", 3)
    builder.place("buffer", capacity=2)
    builder.place("done")
    builder.transition("produce", takes=["jobs"], gives=["buffer"])
    builder.transition("consume", takes=["buffer"], gives=["done"])
    net = builder.build()
    execution = Execution(net)
    produce, consume = net.transitions_by_name["produce"], net.transitions_by_name["consume"]
    execution.start(produce)
    execution.start(produce)
    assert not execution.is_enabled(produce), "two on the way already fill the buffer"
    execution.finish(produce)
    execution.start(consume)
    assert execution.is_enabled(produce), "taking from the buffer frees its room at once"


def test_capacity_of_the_largest_outcome_is_reserved_and_the_rest_given_back() -> None:
    builder = Builder()
    builder.place("jobs", 2)
    builder.place("out", capacity=3)
    builder.transition("make", takes=["jobs"], gives={"out": 3}, on_failure=["out"])
    execution = Execution(builder.build())
    execution.start(0)
    assert not execution.is_enabled(0)
    execution.finish(0, Outcome.FAILURE)
    assert execution.tokens[1] == 1
    assert not execution.is_enabled(0), "two free places are not the three it may need"


def test_failure_without_arcs_gives_back_only_what_is_held() -> None:
    builder = Builder()
    builder.limit("slot")
    builder.place("job", 1)
    builder.place("done")
    builder.transition("work", takes=["job"], holds=["slot"], gives=["done"])
    execution = Execution(builder.build())
    execution.start(0)
    execution.finish(0, Outcome.FAILURE)
    assert execution.tokens == [1, 0, 0]


def diamond() -> Net:
    builder = Builder()
    builder.step("package")
    builder.step("config", needs=["package"])
    builder.step("user")
    builder.step("service", needs=["config", "user"])
    builder.step("motd")
    return builder.build()


def test_failed_step_skips_what_needs_it_and_siblings_go_on() -> None:
    net = diamond()
    ends: list[tuple[str, str]] = []
    execution = Execution(net, lambda t, outcome: ends.append((net.transition_name(t), outcome.name)))
    while (t := execution.start_next()) is not None:
        execution.finish(t, Outcome.FAILURE if net.transition_name(t) == "package" else Outcome.SUCCESS)
    assert ends == [
        ("package", "FAILURE"),
        ("config", "SKIPPED"),
        ("user", "SUCCESS"),
        ("service", "SKIPPED"),
        ("motd", "SUCCESS"),
    ]
    assert execution.is_over


def test_step_whose_needs_fail_twice_is_skipped_once() -> None:
    builder = Builder()
    builder.step("a")
    builder.step("b")
    builder.step("c", needs=["a", "b"])
    ends: list[int] = []
    execution = Execution(builder.build(), lambda t, outcome: ends.append(t))
    for t in (0, 1):
        execution.start(t)
        execution.finish(t, Outcome.FAILURE)
    assert execution.start_next() is None
    assert ends == [0, 1, 2]


def test_step_skipped_by_its_work_skips_what_needs_it() -> None:
    net = diamond()
    execution = Execution(net)
    execution.start(0)
    execution.finish(0, Outcome.SKIPPED)
    assert execution.start_next() == net.transitions_by_name["user"]
    assert execution.outcome(net.transitions_by_name["config"]) == Outcome.SKIPPED


def test_limit_holds_no_more_than_its_tokens() -> None:
    builder = Builder()
    builder.limit("batch", 2)
    for n in range(5):
        builder.step(f"node {n}", holds=["batch"])
    execution = Execution(builder.build())
    started = [execution.start_next() for _ in range(3)]
    assert started == [0, 1, None]
    execution.finish(1)
    assert execution.start_next() == 2


def test_automatic_transition_ends_without_a_driver() -> None:
    builder = Builder()
    for name in ("in", "middle", "out"):
        builder.place(name, int(name == "in"))
    builder.transition("route", takes=["in"], gives=["middle"], is_auto=True)
    builder.transition("work", takes=["middle"], gives=["out"])
    net = builder.build()
    execution = Execution(net)
    assert names(net, [execution.start_next() or 0]) == ["work"]
    assert execution.outcome(0) == Outcome.SUCCESS


def test_automatic_transitions_in_a_cycle_are_an_error() -> None:
    builder = Builder()
    builder.place("a", 1)
    builder.place("b")
    builder.transition("there", takes=["a"], gives=["b"], is_auto=True)
    builder.transition("back", takes=["b"], gives=["a"], is_auto=True)
    with pytest.raises(PrecastError) as caught:
        Execution(builder.build()).start_next()
    assert issues.AUTO_CYCLE.matches(caught.value)


def test_start_of_what_is_not_enabled_says_what_is_short() -> None:
    net = diamond()
    with pytest.raises(PrecastError) as caught:
        Execution(net).start(1)
    assert issues.NOT_ENABLED.matches(caught.value)
    assert "package → config has 0, it wants 1" in caught.value.message


def test_finish_of_what_does_not_run_is_an_error() -> None:
    with pytest.raises(PrecastError) as caught:
        Execution(diamond()).finish(0)
    assert issues.NOT_RUNNING.matches(caught.value)


def test_snapshot_lists_what_runs_and_restores_it_with_its_tokens() -> None:
    net = diamond()
    execution = Execution(net)
    execution.start_next()
    snapshot = execution.snapshot()
    assert snapshot["running"] == [0]
    assert canonical.encode(snapshot) == canonical.encode(Execution.restore(net, snapshot).snapshot())
    restored = Execution.restore(net, snapshot)
    restored.finish(0)
    assert run(restored) == ["config", "user", "service", "motd"]


@pytest.mark.parametrize(
    "damage",
    [
        {"format": 2},
        {"net": "0" * 64},
        {"tokens": [1]},
        {"tokens": None},
        {"running": [99]},
        {"running": [-1]},
        {"latest": "9"},
        {"ended": "1"},
    ],
)
def test_snapshot_that_does_not_fit_is_refused(damage: dict[str, object]) -> None:
    net = diamond()
    with pytest.raises(PrecastError) as caught:
        Execution.restore(net, {**Execution(net).snapshot(), **damage})
    assert issues.WRONG_SNAPSHOT.matches(caught.value)


@pytest.mark.parametrize(
    ("declared", "issue"),
    [
        (NetDeclaration("n", (), (Transition("t", takes=(("p", 1),)),)), issues.UNKNOWN_PLACE),
        (NetDeclaration("n", (Place("p"),), (Transition("t", takes=(("p", 0),)),)), issues.BAD_NUMBER),
        (NetDeclaration("n", (), (Transition("s", is_step=True, needs=("r",)),)), issues.UNKNOWN_STEP),
        (
            NetDeclaration("n", (), (Transition("t"), Transition("s", is_step=True, needs=("t",)))),
            issues.UNKNOWN_STEP,
        ),
    ],
)
def test_declaration_that_makes_no_sense_is_refused(declared: NetDeclaration, issue: Issue) -> None:
    with pytest.raises(PrecastError) as caught:
        compile_net(declared)
    assert issue.matches(caught.value)


def test_builder_refuses_a_second_declaration_and_wrong_numbers() -> None:
    builder = Builder()
    builder.place("p", 1, capacity=2)
    builder.step("s")
    attempts: list[tuple[Callable[[], None], Issue]] = [
        (lambda: builder.place("p"), issues.DECLARED_TWICE),
        (lambda: builder.step("s"), issues.DECLARED_TWICE),
        (lambda: builder.place("q", -1), issues.BAD_NUMBER),
        (lambda: builder.place("q", 3, capacity=2), issues.OVERFULL),
        (lambda: builder.step("t", duration_ms=-5), issues.BAD_NUMBER),
    ]
    for attempt, issue in attempts:
        with pytest.raises(PrecastError) as caught:
            attempt()
        assert issue.matches(caught.value)


def test_names_of_derived_places_are_in_the_users_words() -> None:
    builder = Builder()
    builder.place("buffer", capacity=2)
    builder.step("a")
    builder.add_transition(Transition("b", is_step=True, needs=("a",), gives=(("buffer", 1),)))
    net = builder.build()
    assert [net.place_name(p) for p in range(net.place_count)] == [
        "buffer",
        "a: to do",
        "b: to do",
        "b: blocked",
        "a → b",
        "room in buffer",
    ]
    assert [net.transition_name(t) for t in range(net.transition_count)] == ["a", "b", "skip b"]


def test_execution_begins_at_a_computed_marking() -> None:
    builder = Builder()
    builder.place("work", 3)
    builder.limit("slots", 2)
    builder.transition("act", takes=["work"], holds=["slots"])
    net = builder.build()
    execution = Execution.at_marking(net, [2, 1], [0])
    assert execution.start_next() == 0
    assert execution.start_next() is None
    execution.finish(0)
    assert execution.tokens == [1, 1]
    assert execution.enabled() == [0]


def test_limit_that_is_overdrawn_lets_nothing_start_until_enough_has_ended() -> None:
    builder = Builder()
    builder.place("work", 1)
    builder.limit("slots", 1)
    builder.transition("act", takes=["work"], holds=["slots"])
    execution = Execution.at_marking(builder.build(), [1, -1], [0, 0])
    assert execution.start_next() is None
    execution.finish(0)
    assert execution.start_next() is None
    execution.finish(0)
    assert execution.start_next() == 0
