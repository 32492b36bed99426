"""The backoff between attempts: it grows up to the cap, and its jitter spreads many items."""

import pytest

from precast.store.queue.kinds import WorkKind

KIND = WorkKind("compile", pause_first_s=10, pause_cap_s=100)
KEYS = [f"node{number}" for number in range(200)]


def full_s(attempt: int) -> float:
    """The backoff before the jitter."""
    return {1: 10, 2: 20, 3: 40, 4: 80}.get(attempt, 100)


@pytest.mark.parametrize("attempt", [1, 2, 3, 4, 5, 6, 50, 10_000])
def test_backoff_lies_within_a_quarter_below_its_full_length(attempt: int) -> None:
    for key in KEYS:
        assert 0.75 * full_s(attempt) < KIND.pause_s(key, attempt) <= full_s(attempt)


def test_backoff_grows_with_every_attempt_until_it_is_capped() -> None:
    for key in KEYS:
        # Doubling outweighs the jitter; from 80 to the cap of 100 it may not.
        pauses = [KIND.pause_s(key, attempt) for attempt in (1, 2, 3, 4)]
        assert pauses == sorted(set(pauses))
        assert max(KIND.pause_s(key, attempt) for attempt in range(1, 200)) <= 100


def test_backoff_of_the_same_attempt_is_always_the_same() -> None:
    again = WorkKind("compile", pause_first_s=10, pause_cap_s=100)
    assert [again.pause_s(key, 3) for key in KEYS] == [KIND.pause_s(key, 3) for key in KEYS]
    assert KIND.pause_s("node1", 3) == pytest.approx(
        34.397, abs=0.005
    )  # for other processes too, whatever their hash seed


def test_backoffs_of_many_keys_are_spread_over_the_whole_quarter() -> None:
    pauses = [KIND.pause_s(key, 1) for key in KEYS]
    assert len(set(pauses)) == len(KEYS)
    in_slices = [sum(7.5 + 0.5 * at < pause <= 8 + 0.5 * at for pause in pauses) for at in range(5)]
    assert sum(in_slices) == len(KEYS)
    assert min(in_slices) > len(KEYS) / 5 / 2


def test_backoffs_of_kinds_and_attempts_of_one_key_are_spread_apart() -> None:
    other = WorkKind("deliver", pause_first_s=10, pause_cap_s=100)
    assert KIND.pause_s("node", 1) != other.pause_s("node", 1)
    assert KIND.pause_s("node", 60) != KIND.pause_s("node", 61)
