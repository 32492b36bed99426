"""The adaptive limit: it follows the lag, within its bounds, and an unused one falls back."""

import pytest

from precast.services.jobs.flow.adaptive_limit import INITIAL, LEAST, MOST, TARGET_LAG_S, WINDOW_S, AdaptiveLimit


class Intake:
    """A limit with a clock that stands still between windows."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.adaptive = AdaptiveLimit(lambda: self.now_s)

    def pass_windows(self, count: int, lag_s: float, in_flight: int | None = None) -> int:
        """Observe one lag in each of some windows, with as many in flight as the limit allows. Returns the limit."""
        for _ in range(count):
            self.now_s += 1.5 * WINDOW_S
            self.adaptive.observe(lag_s, self.adaptive.limit if in_flight is None else in_flight)
        return self.adaptive.limit


def test_limit_without_observations_is_the_initial_one() -> None:
    assert Intake().adaptive.limit == INITIAL


def test_lag_far_above_the_target_cuts_the_limit_by_a_twentieth() -> None:
    assert Intake().pass_windows(1, 10 * TARGET_LAG_S) == pytest.approx(INITIAL * 0.95, abs=1)


def test_lag_far_below_the_target_raises_the_limit_by_a_tenth() -> None:
    assert Intake().pass_windows(1, TARGET_LAG_S / 10) == pytest.approx(INITIAL * 1.1, abs=1)


def test_lag_near_the_target_changes_the_limit_in_proportion() -> None:
    assert Intake().pass_windows(1, TARGET_LAG_S) == INITIAL
    assert Intake().pass_windows(1, TARGET_LAG_S * 1.25) == pytest.approx(INITIAL * 0.98, abs=1)
    assert Intake().pass_windows(1, TARGET_LAG_S / 1.5) == pytest.approx(INITIAL * 1.05, abs=1)


def test_lag_of_nothing_is_far_below_the_target() -> None:
    assert Intake().pass_windows(1, 0.0) == pytest.approx(INITIAL * 1.1, abs=1)


def test_observations_of_one_window_count_by_their_mean() -> None:
    intake = Intake()
    intake.adaptive.observe(0.0, INITIAL)
    assert intake.adaptive.limit == INITIAL
    assert intake.pass_windows(1, 2 * TARGET_LAG_S) == INITIAL


def test_limit_stays_within_its_bounds() -> None:
    intake = Intake()
    assert intake.pass_windows(1_000, 60.0) == LEAST
    assert intake.pass_windows(1_000, 0.001) == MOST


def test_limit_that_is_not_used_does_not_grow() -> None:
    assert Intake().pass_windows(100, 0.001, INITIAL // 2 - 1) == INITIAL
    assert Intake().pass_windows(1, 0.001, INITIAL // 2) == pytest.approx(INITIAL * 1.1, abs=1)


def test_lag_above_the_target_cuts_also_a_limit_that_is_not_used() -> None:
    assert Intake().pass_windows(1, 60.0, 0) == pytest.approx(INITIAL * 0.95, abs=1)


def test_limit_that_is_not_used_falls_back_to_the_initial_one() -> None:
    intake = Intake()
    raised = intake.pass_windows(40, 0.001)
    assert raised > 10 * INITIAL
    intake.adaptive.observe(0.001, 0)
    intake.now_s += 1.0
    assert intake.adaptive.limit == pytest.approx(raised * 0.9, abs=1)
    intake.now_s += 60.0
    assert intake.adaptive.limit == INITIAL
    assert intake.pass_windows(1, 0.001, 0) == INITIAL


def test_low_limit_that_is_not_used_stays_low() -> None:
    intake = Intake()
    low = intake.pass_windows(20, 60.0, 0)
    intake.now_s += 60.0
    assert intake.adaptive.limit == low < INITIAL
