"""Until when a value may be used: nothing revives one that has expired."""

from datetime import timedelta

from precast.agent.futures.key_states import KeyState, Moment
from precast.base.clock import ManualClock

TTL_S = 60.0


def received(clock: ManualClock, *, ahead_s: float = 0.0) -> KeyState:
    """A value that a server has sent now, whose clock is ahead of this machine's by so much."""
    expires_at = clock.now() + timedelta(seconds=TTL_S + ahead_s)
    return KeyState(
        "k", "db1", "fulfilled", 1, b"1", False, expires_at, TTL_S, received_s=clock.monotonic_s(), boot_id="boot1"
    )


def is_expired(state: KeyState, clock: ManualClock, boot_id: str = "boot1") -> bool:
    return state.is_expired(Moment.take(clock, boot_id))


def test_value_expires_when_its_time_is_over() -> None:
    clock = ManualClock()
    state = received(clock)
    clock.advance(TTL_S - 1)
    assert not is_expired(state, clock)
    clock.advance(1)
    assert is_expired(state, clock)


def test_clock_that_is_set_back_revives_nothing() -> None:
    clock = ManualClock()
    state = received(clock)
    clock.set_back(3600)
    clock.advance(TTL_S)
    assert is_expired(state, clock)


def test_clock_of_the_node_that_is_behind_gives_no_more_time() -> None:
    clock = ManualClock()
    state = received(clock, ahead_s=3600)
    clock.advance(TTL_S)
    assert is_expired(state, clock)


def test_clock_that_is_set_ahead_expires_the_value() -> None:
    clock = ManualClock()
    state = received(clock)
    clock.set_ahead(3600)
    assert is_expired(state, clock)


def test_suspend_counts() -> None:
    clock = ManualClock()
    state = received(clock)
    clock.set_back(TTL_S)  # the time of day was kept by a clock that stood still
    clock.advance(TTL_S)
    assert is_expired(state, clock)


def test_reboot_expires_a_value_with_bounds_and_no_other() -> None:
    clock = ManualClock()
    assert is_expired(received(clock), clock, "boot2")
    assert not is_expired(KeyState("k", "db1", "fulfilled", 1, b"1", boot_id="boot1"), clock, "boot2")
