"""Simulation by hand-worked examples, and what-if changes."""

import pytest

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.net import issues
from precast.net.exchange.notation import parse
from precast.net.execution import whatif
from precast.net.execution.simulation import Plan, simulate
from precast.net.model.compiler import compile_net
from precast.net.model.declarations import Outcome
from precast.net.model.structure import Net

TEXT = """
limit slots = 1
step a 10s
step b 20s
  needs a
  holds slots
step c 5s
  needs a
  holds slots
step d 1s
  needs b, c
step e 3s
"""


def net_of(text: str = TEXT) -> Net:
    return parse(Source("t", text))


def rows(net: Net, plan: Plan) -> dict[str, tuple[int, int, int]]:
    return {
        net.transition_name(run.transition): (run.start_ms // 1000, run.end_ms // 1000, slack_ms // 1000)
        for run, slack_ms in zip(plan.runs, plan.slack_ms, strict=True)
    }


def critical(net: Net, plan: Plan) -> list[str]:
    return [net.transition_name(plan.runs[number].transition) for number in plan.critical]


def test_plan_has_times_slack_and_critical_path_as_worked_out_by_hand() -> None:
    net = net_of()
    plan = simulate(net)
    # b and c share one slot: b goes first, c waits for it although it only needs a.
    assert rows(net, plan) == {"a": (0, 10, 0), "e": (0, 3, 33), "b": (10, 30, 0), "c": (30, 35, 0), "d": (35, 36, 0)}
    assert plan.makespan_ms == 36_000
    assert critical(net, plan) == ["a", "b", "c", "d"]
    assert plan.uses[0].most == 1
    assert plan.uses[0].share == pytest.approx(25 / 36)
    assert not plan.stuck


def test_plan_with_a_wider_limit_is_shorter() -> None:
    net = compile_net(whatif.change_limit(net_of().declared, "slots=2"))
    plan = simulate(net)
    assert plan.makespan_ms == 31_000
    assert rows(net, plan)["c"] == (10, 15, 15)
    assert critical(net, plan) == ["a", "b", "d"]


def test_plan_with_another_duration_follows_it() -> None:
    assert simulate(compile_net(whatif.change_duration(net_of().declared, "b=1s"))).makespan_ms == 17_000


def test_plan_without_a_step_keeps_the_order_of_the_others() -> None:
    declared = whatif.remove_transition(net_of().declared, "b")
    assert {t.name: t.needs for t in declared.transitions}["d"] == ("a", "c")
    assert simulate(compile_net(declared)).makespan_ms == 16_000


def test_plan_with_a_failure_skips_what_needs_it() -> None:
    net = net_of()
    plan = simulate(net, {net.transitions_by_name["b"]: Outcome.FAILURE})
    ends = {net.transition_name(run.transition): run.outcome for run in plan.runs}
    assert ends["d"] == Outcome.SKIPPED
    assert ends["c"] == Outcome.SUCCESS
    assert not plan.stuck


def test_plan_of_a_net_that_gets_stuck_says_who_waits() -> None:
    plan = simulate(net_of("place key\nstep a 1s\ntransition t\n takes key\ngoal key\n"))
    assert plan.stuck == ("t waits for nobody, as nothing gives it, through key (no token there)",)


def test_plan_of_a_net_that_loops_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("precast.net.execution.simulation.LEAST_LIMIT", 50)
    plan = simulate(net_of("place a = 1\ntransition t 1s\n takes a\n gives a\n"))
    assert plan.is_cut
    assert len(plan.runs) <= 51


def test_plan_with_automatic_work_takes_no_time_for_it() -> None:
    plan = simulate(net_of("place a = 1\nplace b\ntransition r auto\n takes a\n gives b\ntransition w 2s\n takes b\n"))
    assert [(run.start_ms, run.end_ms) for run in plan.runs] == [(0, 0), (0, 2_000)]
    assert plan.critical == (0, 1)


@pytest.mark.parametrize("change", ["b", "b=", "=5s", "b=5", "b=fast"])
def test_change_of_duration_that_says_nothing_is_refused(change: str) -> None:
    with pytest.raises(PrecastError) as caught:
        whatif.change_duration(net_of().declared, change)
    assert issues.BAD_CHANGE.matches(caught.value)


def test_change_of_unknown_work_or_limit_suggests_the_near_one() -> None:
    with pytest.raises(PrecastError) as caught:
        whatif.remove_transition(net_of().declared, "slots")
    assert issues.UNKNOWN_NAME.matches(caught.value)
    with pytest.raises(PrecastError, match="did you mean slots"):
        whatif.change_limit(net_of().declared, "slot=2")
