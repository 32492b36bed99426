"""Rate limits and limits of requests in progress."""

import pytest

from precast.api.http.connections.sources import Source, source_of
from precast.api.http.quotas import Quotas, RateLimiter, RequestLimits
from precast.base.clock import ManualClock
from precast.base.errors import LimitedError, PrecastError

X, Y = source_of("192.0.2.1"), source_of("192.0.2.2")


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
        quotas.admit(X, "token")
    with pytest.raises(PrecastError) as caught:
        quotas.admit(X, "token")
    assert (caught.value.code, caught.value.consequence.http_status) == ("API-009", 429)
    quotas.admit(X, "other token")
    for _ in range(3):
        quotas.count_stranger(X)
    with pytest.raises(PrecastError):
        quotas.admit(X, "other token")
    quotas.admit(Y, "other token")


def test_requests_in_progress_are_counted_until_they_end(clock: ManualClock) -> None:
    quotas = Quotas(clock, RequestLimits(in_progress=2))
    for who in ("a", "a", "b"):
        quotas.enter(Source(who))
    with pytest.raises(PrecastError) as caught:
        quotas.enter(Source("a"))
    assert caught.value.code == "API-007"
    for who in ("a", "a", "b"):
        quotas.leave(Source(who))
    for who in ("a", "a"):
        quotas.enter(Source(who))


def refused(quotas: Quotas, addresses: list[str]) -> int:
    """How many of these requests of strangers, one from each address, are refused."""
    count = 0
    for address in addresses:
        try:
            quotas.admit(source_of(address), "")
        except LimitedError:
            count += 1
        else:
            quotas.count_stranger(source_of(address))
    return count


def test_addresses_of_one_ipv6_network_share_a_bucket(clock: ManualClock) -> None:
    quotas = Quotas(clock, RequestLimits(rate=1, stranger_burst_s=10))
    assert refused(quotas, [f"2001:db8::{number:x}" for number in range(100)]) == 90
    assert refused(quotas, ["2001:db8:0:1::1", "::ffff:192.0.2.1", "192.0.2.2"]) == 0


def test_networks_of_one_ipv6_site_share_a_wider_bucket(clock: ManualClock) -> None:
    quotas = Quotas(clock, RequestLimits(rate=1, stranger_burst_s=10))
    assert refused(quotas, [f"2001:db8:0:{number:x}::1" for number in range(100)]) == 60
    assert refused(quotas, ["2001:db8:1::1"]) == 0


def test_requests_in_progress_of_an_ipv6_site_are_limited(clock: ManualClock) -> None:
    quotas = Quotas(clock, RequestLimits(in_progress=2))
    for number in range(8):
        quotas.enter(source_of(f"2001:db8:0:{number:x}::1"))
    with pytest.raises(PrecastError):
        quotas.enter(source_of("2001:db8:0:9::1"))
    quotas.leave(source_of("2001:db8:0:1::1"))
    quotas.enter(source_of("2001:db8:0:9::1"))


def test_valid_credentials_do_not_suffer_from_strangers_behind_the_same_address(clock: ManualClock) -> None:
    quotas = Quotas(clock, RequestLimits(rate=1, burst_s=5, stranger_burst_s=3))
    quotas.admit(X, "token")
    quotas.recognise("token")
    for _ in range(3):
        quotas.count_stranger(X)
    quotas.admit(X, "token")
    quotas.forget("token")  # revoked meanwhile
    with pytest.raises(PrecastError):
        quotas.admit(X, "token")


def test_bodies_of_strangers_have_a_share_for_each_source_and_one_for_all(clock: ManualClock) -> None:
    quotas = Quotas(clock, RequestLimits(stranger_body_bytes=10, all_stranger_body_bytes=25))
    with quotas.receiving(X, 10):
        with pytest.raises(PrecastError) as caught, quotas.receiving(X, 1):
            pass
        assert (caught.value.code, caught.value.consequence.http_status) == ("API-015", 429)
        with (
            quotas.receiving(Y, 10),
            pytest.raises(PrecastError),
            quotas.receiving(source_of("192.0.2.3"), 10),
        ):
            pass
    with quotas.receiving(X, 10), quotas.receiving(Y, 10):
        pass
