"""What a benchmark may say about the median of paired differences."""

import random

import pytest

from bench.paired import describe, median_interval


def test_interval_is_of_the_order_statistics_that_the_sign_test_gives() -> None:
    differences = [float(each) for each in range(1, 13)]
    interval = median_interval(random.Random(1).sample(differences, 12))
    assert (interval.low, interval.median, interval.high) == (3.0, 6.5, 10.0)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_too_few_pairs_give_no_interval(count: int) -> None:
    assert median_interval([1.0] * count).low is None


def test_interval_has_the_median_as_often_as_it_says() -> None:
    chance, hits = random.Random(7), 0
    for _ in range(2_000):
        interval = median_interval([chance.gauss(0.3, 1) + chance.choice((0, 5, -5)) for _ in range(12)])
        assert interval.low is not None
        assert interval.high is not None
        hits += interval.low <= 0.3 <= interval.high
    assert hits >= 1_900


@pytest.mark.parametrize(
    ("differences", "text"),
    [
        ([2.0] * 6 + [4.0] * 6, "2.0 to 4.0"),
        ([-1.0] * 6 + [3.0] * 6, "at most 3.0"),
        ([-3.0] * 6 + [-1.0] * 6, "-3.0 to -1.0"),
        ([1.0], "not measurable with so few rounds"),
    ],
)
def test_a_cost_whose_sign_is_not_known_is_given_as_a_bound(differences: list[float], text: str) -> None:
    assert describe(median_interval(differences)) == text
