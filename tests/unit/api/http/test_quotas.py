"""Buckets and places: who asks too often, and who does not."""

import pytest

from precast.api.http.quotas import Buckets, Limits, Quotas
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError


def taken(buckets: Buckets, who: str, attempts: int) -> int:
    return sum(buckets.take(who) for _ in range(attempts))


def test_bucket_gives_a_burst_and_then_its_rate(clock: ManualClock) -> None:
    buckets = Buckets(clock, rate=10, burst=30)
    assert taken(buckets, "a", 100) == 30
    clock.advance(0.05)
    assert taken(buckets, "a", 5) == 0
    clock.advance(0.05)
    assert taken(buckets, "a", 5) == 1
    clock.advance(2)
    assert taken(buckets, "a", 100) == 20
    clock.advance(3600)
    assert taken(buckets, "a", 100) == 30


def test_bucket_of_one_is_not_anothers(clock: ManualClock) -> None:
    buckets = Buckets(clock, rate=10, burst=3)
    assert taken(buckets, "a", 9) == 3
    assert not buckets.has("a")
    assert taken(buckets, "b", 9) == 3


def test_what_was_used_before_it_was_counted_is_paid_for_later(clock: ManualClock) -> None:
    buckets = Buckets(clock, rate=1, burst=2)
    for _ in range(6):  # all of them were let in at once
        buckets.charge("a")
    clock.advance(3)
    assert not buckets.has("a")
    clock.advance(10)
    assert taken(buckets, "a", 9) == 2


def test_buckets_are_bounded_and_full_ones_are_forgotten_first(clock: ManualClock) -> None:
    buckets = Buckets(clock, rate=10, burst=10, most=100)
    for number in range(99):
        assert buckets.take(f"early{number}")
    clock.advance(60)
    assert taken(buckets, "busy", 10) == 10
    for number in range(150):
        buckets.take(f"late{number}")
    assert len(buckets) <= 100
    for number in range(10_000):
        buckets.take(f"flood{number}")
    assert len(buckets) <= 100


def test_known_caller_behind_a_strangers_address_is_served_until_that_is_exhausted(clock: ManualClock) -> None:
    quotas = Quotas(clock, Limits(rate=1, burst_s=5, stranger_burst_s=3))
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


def test_places_are_given_back(clock: ManualClock) -> None:
    quotas = Quotas(clock, Limits(under_way=2))
    for who in ("a", "a", "b"):
        quotas.enter(who)
    with pytest.raises(PrecastError) as caught:
        quotas.enter("a")
    assert caught.value.code == "API-007"
    for who in ("a", "a", "b"):
        quotas.leave(who)
    for who in ("a", "a"):
        quotas.enter(who)
