"""How long an agent waits before it reconnects: soon after the first loss, then in growing ranges with a cap."""

import random
import statistics

import pytest

from precast.agent.connection.backoff import (
    FENCED_S,
    GOOD_S,
    MAX_DELAY_S,
    REVOKED_S,
    SPREAD_S,
    Backoff,
    EndReason,
    fraction,
)


def make_backoff(name: str = "web1", seed: int = 1) -> Backoff:
    return Backoff(name, random.Random(seed))


def test_first_retry_is_spread_by_the_name_alone() -> None:
    first = [make_backoff(f"web{number}", number).next_delay_s(EndReason.FAILED, 1000) for number in range(1000)]
    assert max(first) <= SPREAD_S
    assert 0.4 * SPREAD_S < statistics.mean(first) < 0.6 * SPREAD_S
    assert make_backoff("web7", 1).next_delay_s(EndReason.FAILED, 0) == make_backoff("web7", 2).next_delay_s(
        EndReason.FAILED, 0
    )


@pytest.mark.parametrize(("reason", "cap_s"), [(EndReason.UNREACHABLE, 30.0), (EndReason.FAILED, 300.0)])
def test_further_retries_are_drawn_from_a_range_that_grows_to_its_cap(reason: EndReason, cap_s: float) -> None:
    drawn = []
    for seed in range(300):
        backoff = make_backoff("web1", seed)
        drawn.append([backoff.next_delay_s(reason, 0) for _ in range(60)])
    means = [statistics.mean(column) for column in zip(*drawn, strict=True)]
    assert max(map(max, drawn)) <= cap_s
    assert means[1] < means[3] < means[5]
    assert 0.4 * cap_s < means[-1] < 0.6 * cap_s
    assert min(row[-1] for row in drawn) < 0.1 * cap_s


def test_server_that_had_welcomed_the_agent_is_retried_sooner() -> None:
    backoff = make_backoff()
    assert max(backoff.next_delay_s(EndReason.FAILED, 0.5) for _ in range(200)) <= 30


def test_long_session_resets_the_count_of_failures() -> None:
    backoff = make_backoff()
    first = backoff.next_delay_s(EndReason.FAILED, 0)
    for _ in range(10):
        backoff.next_delay_s(EndReason.FAILED, GOOD_S - 1)
    assert backoff.next_delay_s(EndReason.FAILED, GOOD_S) == first


def test_delay_that_the_server_asks_for_is_used() -> None:
    for reason in (EndReason.MOVED, EndReason.REFUSED):
        assert all(40 <= make_backoff(seed=seed).next_delay_s(reason, 10, (40, 60)) <= 60 for seed in range(50))


def test_server_cannot_send_the_agent_away_for_long() -> None:
    backoff = make_backoff()
    backoff.spread_s = 1e9
    for reason in (EndReason.MOVED, EndReason.REFUSED, EndReason.FAILED):
        assert backoff.next_delay_s(reason, 10, (1e9, 2e9)) <= MAX_DELAY_S


def test_problem_that_needs_a_person_is_retried_rarely() -> None:
    least_s, most_s = REVOKED_S
    assert all(least_s <= make_backoff(seed=seed).next_delay_s(EndReason.REVOKED, 0) <= most_s for seed in range(50))


def test_machine_whose_connection_was_taken_over_comes_back_soon_and_then_rarely() -> None:
    for seed in range(50):
        backoff = make_backoff(seed=seed)
        drawn = [backoff.next_delay_s(EndReason.FENCED, 10) for _ in range(6)]
        assert drawn[0] <= FENCED_S[0]
        assert drawn[1] <= FENCED_S[1]
        backoff.next_delay_s(EndReason.FENCED, 3600)
    assert max(make_backoff(seed=seed).next_delay_s(EndReason.FENCED, 3600) for seed in range(50)) <= FENCED_S[0]
    assert max(drawn) <= FENCED_S[2]


def test_planned_reconnection_has_no_delay() -> None:
    assert make_backoff().next_delay_s(EndReason.CYCLED, 10) == make_backoff().next_delay_s(EndReason.OURS, 10) == 0


def test_server_that_sends_the_agent_away_at_once_is_retried_with_a_delay() -> None:
    backoff = make_backoff()
    assert backoff.next_delay_s(EndReason.MOVED, 10, (0, 0)) == 0
    drawn = [backoff.next_delay_s(EndReason.MOVED, 0, (0, 0)) for _ in range(20)]
    assert max(drawn) > 5


def test_fraction_is_even() -> None:
    drawn = sorted(fraction(f"node{number}.example.com") for number in range(1000))
    assert max(abs(value - at / 1000) for at, value in enumerate(drawn)) < 0.06


def test_agents_spread_over_the_time_that_the_server_chose() -> None:
    for number in range(50):
        backoff = make_backoff(f"node{number}")
        backoff.spread_s = 20.0
        assert backoff.next_delay_s(EndReason.FAILED, 3600.0) == 20.0 * fraction(f"node{number}")
