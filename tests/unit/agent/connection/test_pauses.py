"""How long an agent waits: soon after the first loss, then spread, never without an end."""

import random
import statistics

import pytest

from precast.agent.connection.pauses import FENCED_S, GOOD_S, REVOKED_S, SPREAD_S, Pauses, Verdict, fraction


def pauses(name: str = "web1", seed: int = 1) -> Pauses:
    return Pauses(name, random.Random(seed))


def test_first_retry_is_spread_by_the_name_alone() -> None:
    first = [pauses(f"web{number}", number).next_s(Verdict.FAILED, 1000) for number in range(1000)]
    assert max(first) <= SPREAD_S
    assert 0.4 * SPREAD_S < statistics.mean(first) < 0.6 * SPREAD_S
    assert pauses("web7", 1).next_s(Verdict.FAILED, 0) == pauses("web7", 2).next_s(Verdict.FAILED, 0)


@pytest.mark.parametrize(("verdict", "cap_s"), [(Verdict.UNREACHABLE, 30.0), (Verdict.FAILED, 300.0)])
def test_further_retries_are_drawn_from_a_range_that_grows_to_its_cap(verdict: Verdict, cap_s: float) -> None:
    drawn = []
    for seed in range(300):
        one = pauses("web1", seed)
        drawn.append([one.next_s(verdict, 0) for _ in range(60)])
    means = [statistics.mean(column) for column in zip(*drawn, strict=True)]
    assert max(map(max, drawn)) <= cap_s
    assert means[1] < means[3] < means[5]
    assert 0.4 * cap_s < means[-1] < 0.6 * cap_s
    assert min(row[-1] for row in drawn) < 0.1 * cap_s


def test_server_that_had_welcomed_us_is_tried_again_sooner() -> None:
    one = pauses()
    assert max(one.next_s(Verdict.FAILED, 0.5) for _ in range(200)) <= 30


def test_session_that_lived_begins_the_count_anew() -> None:
    one = pauses()
    first = one.next_s(Verdict.FAILED, 0)
    for _ in range(10):
        one.next_s(Verdict.FAILED, GOOD_S - 1)
    assert one.next_s(Verdict.FAILED, GOOD_S) == first


def test_server_that_says_when_is_obeyed() -> None:
    for verdict in (Verdict.MOVED, Verdict.REFUSED):
        assert all(40 <= pauses(seed=seed).next_s(verdict, 10, (40, 60)) <= 60 for seed in range(50))


@pytest.mark.parametrize(("verdict", "range_s"), [(Verdict.FENCED, FENCED_S), (Verdict.REVOKED, REVOKED_S)])
def test_what_a_person_must_look_at_is_tried_rarely(verdict: Verdict, range_s: tuple[float, float]) -> None:
    assert all(range_s[0] <= pauses(seed=seed).next_s(verdict, 0) <= range_s[1] for seed in range(50))


def test_new_connection_that_is_wanted_comes_at_once() -> None:
    assert pauses().next_s(Verdict.CYCLED, 10) == pauses().next_s(Verdict.OURS, 10) == 0


def test_server_that_sends_us_away_at_once_is_not_asked_without_end() -> None:
    one = pauses()
    assert one.next_s(Verdict.MOVED, 10, (0, 0)) == 0
    drawn = [one.next_s(Verdict.MOVED, 0, (0, 0)) for _ in range(20)]
    assert max(drawn) > 5


def test_fraction_is_even() -> None:
    drawn = sorted(fraction(f"node{number}.example.com") for number in range(1000))
    assert max(abs(value - at / 1000) for at, value in enumerate(drawn)) < 0.06


def test_herd_spreads_over_what_the_server_said() -> None:
    for number in range(50):
        one = pauses(f"node{number}")
        one.spread_s = 20.0
        assert one.next_s(Verdict.FAILED, 3600.0) == 20.0 * fraction(f"node{number}")
