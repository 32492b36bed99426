"""Rate limits and limits of requests in progress."""

import pytest

from precast.api.http.quotas import Quotas, RateLimiter, RequestLimits
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError


def take_many(limiter: RateLimiter, who: str, attempts: int) -> int:
    return sum(limiter.take(who) for _ in range(attempts))


def test_bucket_allows_a_burst_and_then_its_rate(clock: ManualClock) -> None:
    limiter = RateLimiter(clock, rate=10, burst=30)
    assert take_many(limiter, "a", 100) == 30
    clock.advance(0.05)
    assert take_many(limiter, "a", 5) == 0
    clock.advance(0.05)
    assert take_many(limiter, "a", 5) == 1
    clock.advance(2)
    assert take_many(limiter, "a", 100) == 20
    clock.advance(3600)
    assert take_many(limiter, "a", 100) == 30


def test_callers_have_separate_buckets(clock: ManualClock) -> None:
    limiter = RateLimiter(clock, rate=10, burst=3)
    assert take_many(limiter, "a", 9) == 3
    assert not limiter.has_capacity("a")
    assert take_many(limiter, "b", 9) == 3


def test_charge_may_make_the_level_negative(clock: ManualClock) -> None:
    limiter = RateLimiter(clock, rate=1, burst=2)
    for _ in range(6):  # all of them were admitted before the first was counted
        limiter.charge("a")
    clock.advance(3)
    assert not limiter.has_capacity("a")
    clock.advance(10)
    assert take_many(limiter, "a", 9) == 2


def test_buckets_are_bounded_and_full_ones_are_dropped_first(clock: ManualClock) -> None:
    limiter = RateLimiter(clock, rate=10, burst=10, most=100)
    for number in range(99):
        assert limiter.take(f"early{number}")
    clock.advance(60)
    assert take_many(limiter, "busy", 10) == 10
    for number in range(150):
        limiter.take(f"late{number}")
    assert len(limiter) <= 100
    for number in range(10_000):
        limiter.take(f"flood{number}")
    assert len(limiter) <= 100


def test_authenticated_caller_is_served_until_the_bucket_of_its_address_is_empty(clock: ManualClock) -> None:
    quotas = Quotas(clock, RequestLimits(rate=1, burst_s=5, stranger_burst_s=3))
    for _ in range(5):
        quotas.admit("address x", "token")
    with pytest.raises(PrecastError) as caught:
        quotas.admit("address x", "token")
    assert (caught.value.code, caught.value.consequence.http_status) == ("API-009", 429)
    quotas.admit("address x", "other token")
    for _ in range(3):
        quotas.count_stranger("address x")
    with pytest.raises(PrecastError):
        quotas.admit("address x", "other token")
    quotas.admit("address y", "other token")


def test_requests_in_progress_are_counted_until_they_end(clock: ManualClock) -> None:
    quotas = Quotas(clock, RequestLimits(in_progress=2))
    for who in ("a", "a", "b"):
        quotas.enter(who)
    with pytest.raises(PrecastError) as caught:
        quotas.enter("a")
    assert caught.value.code == "API-007"
    for who in ("a", "a", "b"):
        quotas.leave(who)
    for who in ("a", "a"):
        quotas.enter(who)
