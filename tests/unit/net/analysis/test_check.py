"""The findings of a check, in the names of the net's author."""

import pytest

from precast.base.spans import Source
from precast.net.analysis.check import Report, check
from precast.net.analysis.cycles import shortest_cycles
from precast.net.analysis.deadlock import Verdict
from precast.net.analysis.waits import WaitGraph
from precast.net.exchange.notation import parse
from precast.net.execution.execution import Execution


def report(text: str, bound: int | None = None) -> Report:
    return check(parse(Source("test.net", text)), bound)


def messages(text: str) -> list[str]:
    return [finding.message for finding in report(text).findings]


def test_cycle_of_needs_is_named_shortest_first_and_the_rest_is_caught_behind() -> None:
    lines = messages(
        """
        step File[/etc/ntp.conf]
          needs Service[ntp]
        step Package[ntp]
        step Service[ntp]
          needs Package[ntp], File[/etc/ntp.conf]
        step Exec[report]
          needs Service[ntp]
        """
    )
    assert lines[0] == (
        "dependency cycle, in which each waits for the one before: File[/etc/ntp.conf] → Service[ntp] → File[/etc/ntp.conf]"
    )
    assert lines[1] == "Exec[report] can never start: it waits for Service[ntp], which can never start"
    assert lines[2] == (
        "deadlock: even if all else succeeds, File[/etc/ntp.conf], Service[ntp], Exec[report] can never end"
    )


def test_step_that_needs_itself_is_a_cycle_of_one() -> None:
    assert "A → A" in messages("step A\n needs A\n")[0]


def test_place_that_is_never_filled_is_named_with_its_waiting_transition() -> None:
    lines = messages("place key\nplace out\ntransition open\n takes key\n gives out\ntransition enter\n takes out\n")
    assert lines[0] == "open can never start: it needs 1 of key, which has 0 and gets none"
    assert lines[1] == "enter can never start: it waits for open, which can never start"


def test_capacity_below_what_is_wanted_is_named() -> None:
    text = "place job = 9\nplace pair capacity 1\ntransition fill\n takes job\n gives pair\ntransition use\n takes 2*pair\n"
    assert "use can never start: it needs 2 of pair, which never holds more than 1" in messages(text)


def test_limit_smaller_than_what_is_held_is_an_error_though_the_step_could_be_skipped() -> None:
    result = report("limit slots = 1\nstep a\nstep b\n needs a\n holds 2*slots\n")
    assert result.findings[0].message == "b can never start: it needs 2 of slots, which has 1 and gets none"
    assert result.deadlock.verdict == Verdict.FOUND


def test_goal_that_nothing_can_meet_is_an_error() -> None:
    assert messages("place done\nplace a = 1\ntransition t\n takes a\ngoal done\n")[0] == (
        "the goal requires 1 of done, which never holds that many"
    )


def test_unused_place_is_a_warning_only() -> None:
    result = report("place spare\nstep a\n")
    assert [(finding.severity, finding.message) for finding in result.findings] == [
        ("warning", "nothing uses place spare")
    ]
    assert result.is_sound


def test_steps_with_limits_are_free_of_deadlock_without_a_search() -> None:
    text = "limit slots = 2\nlock apt\nstep a\n holds slots, apt\nstep b\n needs a\n holds slots\n"
    answer = report(text).deadlock
    assert (answer.verdict, answer.states) == (Verdict.FREE, 0)


TWO_LOCKS = """
lock disk, tape
place a = 1
place b = 1
place a.has
place b.has
place done
transition a.first
  takes a, disk
  gives a.has
transition a.second
  takes a.has, tape
  gives disk, tape, done
transition b.first
  takes b, tape
  gives b.has
transition b.second
  takes b.has, disk
  gives disk, tape, done
goal 2*done
"""


def test_two_locks_taken_in_opposite_order_are_a_deadlock_with_its_path_and_its_waits() -> None:
    result = report(TWO_LOCKS)
    finding = result.findings[0]
    assert finding.message == "deadlock: after a.first → b.first nothing can start and the goal is not met"
    assert "a.second waits for b.second through tape" in finding.hint
    assert "b.second waits for a.second through disk" in finding.hint


def test_two_locks_taken_in_the_same_order_are_free_of_deadlock() -> None:
    fixed = TWO_LOCKS.replace("takes b, tape", "takes b, disk").replace("takes b.has, disk", "takes b.has, tape")
    answer = report(fixed).deadlock
    assert answer.verdict == Verdict.FREE
    assert answer.states > 1


GROWING = "place a = 1\nplace b\nplace c\ntransition t\n takes a\n gives b, c\ntransition u\n takes b\n gives a\n"


def test_search_beyond_its_bound_is_not_proven_and_never_a_guess() -> None:
    result = report(GROWING, bound=50)
    assert result.deadlock.verdict == Verdict.NOT_PROVEN
    assert [finding.severity for finding in result.findings] == ["warning"]
    assert "after 50 states" in result.findings[0].message


def test_search_without_time_is_not_proven() -> None:
    seconds = iter(range(20, -1_000_000, -1))
    answer = check(parse(Source("test.net", GROWING)), 10**6, lambda: next(seconds)).deadlock
    assert answer.verdict == Verdict.NOT_PROVEN
    assert 0 < answer.states <= 20


def test_net_with_a_transition_that_can_always_start_needs_no_search() -> None:
    text = "place a = 2\nplace b\ntransition grow\n takes a\n gives a, b\ntransition use\n takes 2*b\n"
    answer = report(text).deadlock
    assert (answer.verdict, answer.reason, answer.states) == (Verdict.FREE, "grow can always start", 0)
    assert report(text.replace("2*b", "b, a")).deadlock.verdict == Verdict.FOUND


def choices(rounds: int, *, has_way_back: bool) -> str:
    """As many choices between two ways, all of which the marking remembers; the end is dead, unless it leads back after the first way."""
    lines = ["place at0 = 1"]
    for n in range(rounds):
        lines += [f"place at{n + 1}, left{n}, right{n}"]
        lines += [f"transition {way}.{n}\n takes at{n}\n gives at{n + 1}, {way}{n}" for way in ("left", "right")]
    if has_way_back:
        lines += [f"transition back\n takes at{rounds}, left0\n gives at{rounds}, left0"]
    return "\n".join(lines)


def test_deadlock_far_from_the_start_is_found_in_the_depth() -> None:
    answer = report(choices(30, has_way_back=False), bound=1_000).deadlock
    assert (answer.verdict, answer.states, len(answer.trace)) == (Verdict.FOUND, 31, 30)


def test_deadlock_that_neither_order_of_the_search_finds_is_found_by_a_walk() -> None:
    answer = report(choices(30, has_way_back=True), bound=1_000).deadlock
    assert (answer.verdict, answer.states, len(answer.trace)) == (Verdict.FOUND, 1_000, 30)
    assert answer.trace[0].transition == 1


def test_net_that_is_meant_to_go_on_deadlocks_when_it_stops() -> None:
    assert report("place a = 1\nplace b\ntransition t\n takes a\n gives b\n").deadlock.verdict == Verdict.FOUND
    assert report("place a = 1\ntransition t\n takes a\n gives a\n").deadlock.verdict == Verdict.FREE


def test_net_of_nothing_is_sound() -> None:
    assert report("net empty\n").is_sound


@pytest.mark.parametrize(
    ("graph", "cycles"),
    [
        ({0: [1], 1: [2], 2: []}, []),
        ({0: [1], 1: [2], 2: [0, 1]}, [[1, 2]]),
        ({0: [0], 1: [0]}, [[0]]),
        ({0: [1], 1: [0], 2: [3], 3: [4], 4: [2]}, [[0, 1], [2, 3, 4]]),
        ({0: [7]}, []),
    ],
)
def test_shortest_cycle_of_each_component_is_found(graph: dict[int, list[int]], cycles: list[list[int]]) -> None:
    assert shortest_cycles(graph) == cycles


def test_cycle_through_ten_thousand_nodes_needs_no_recursion() -> None:
    count = 10_000
    assert len(shortest_cycles({n: [(n + 1) % count] for n in range(count)})[0]) == count


def test_many_that_can_never_start_are_counted_not_listed() -> None:
    text = "step a\n needs a\n" + "".join(f"step b{n}\n needs a\n" for n in range(100))
    lines = messages(text)
    assert len(lines) == 1 + 20 + 1 + 1
    assert lines[21] == "80 more can never start, the first of them b20"


def test_waits_during_an_execution_name_the_holder_of_the_limit_and_the_chain_behind_it() -> None:
    net = parse(Source("t", "lock apt\nstep a\n holds apt\nstep b\n holds apt\nstep c\n needs b\n"))
    execution = Execution(net)
    assert execution.start_next() == 0
    waiting = WaitGraph(execution.net, execution.tokens, execution.running)
    assert [net.transition_name(t) for t in waiting.waiting_transitions()] == ["b", "c"]
    assert [waiting.sentence(wait) for wait in waiting.chain(2)] == [
        "c waits for b through b → c (no token there)",
        "b waits for a through apt (no token there)",
    ]
