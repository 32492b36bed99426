"""Whose handshake begins, and which connection of a stranger has to go."""

from collections import Counter

from precast.api.http.connections.limits import (
    CROWDED,
    QUEUE_FULL,
    WAITED,
    Admission,
    ConnectionLimits,
    StrangerLimits,
)
from precast.api.http.connections.sources import Source, source_of

A, B = source_of("192.0.2.1"), source_of("192.0.2.2")
PLENTY = ConnectionLimits(burst_each=1000, burst=100_000)


class Door:
    """The limits, with a clock."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.now_s = 0.0
        self.limits: StrangerLimits[str] = StrangerLimits(limits, 0.0)
        self.dropped: Counter[str] = Counter()

    def arrive(self, source: Source, *names: str) -> None:
        for name in names:
            self.dropped.update(reason for _, reason in self.limits.arrive(name, source, self.now_s))

    def turn(self, most: int = 1000) -> list[str]:
        chosen: Admission[str] = self.limits.turn(self.now_s, most)
        self.dropped.update(reason for _, reason in chosen.drop)
        return chosen.begin

    def drain(self) -> list[str]:
        """The connections that may begin now, of all turns; the handshake of each is over at once."""
        begun: list[str] = []
        while more := self.turn():
            begun += more
            for name in more:
                self.establish(name)
        return begun

    def establish(self, name: str) -> None:
        self.dropped.update(reason for _, reason in self.limits.establish(name, self.now_s))


def test_sources_take_turns_however_many_connections_one_has() -> None:
    door = Door(PLENTY)
    door.arrive(A, *(f"flood{number}" for number in range(100)))
    door.arrive(B, "node")
    assert "node" in door.turn(2)
    assert len(door.drain()) == 99


def test_known_source_uses_the_turns_that_no_other_source_needs() -> None:
    """A fleet behind a load balancer comes back as fast as one with many addresses; a stranger has one turn as before."""
    door = Door(PLENTY)
    door.arrive(A, "node0")
    assert door.turn() == ["node0"]
    assert door.limits.authenticate("node0", "certificate 0")
    door.arrive(A, *(f"node{number}" for number in range(1, 8)))
    door.arrive(B, *(f"stranger{number}" for number in range(5)))
    assert sorted(door.turn(4)) == ["node1", "node2", "node3", "stranger0"]
    assert sorted(door.turn(4)) == ["node4", "node5", "node6", "stranger1"]
    assert sorted(door.turn(4)) == ["node7", "stranger2"]
    assert door.turn(4) == ["stranger3"]
    assert (door.turn(4), door.turn(4), door.limits.waiting) == (["stranger4"], [], 0)


def test_flood_of_one_source_is_paced_and_overflows_its_own_queue() -> None:
    door = Door(ConnectionLimits(waiting_each=50, burst_each=10, rate_each=5))
    door.arrive(A, *(f"flood{number}" for number in range(200)))
    assert door.dropped == {QUEUE_FULL: 150}
    assert len(door.drain()) == 10
    door.now_s = 2.0
    assert len(door.drain()) == 10
    door.arrive(B, "node")
    assert door.drain() == ["node"]


def test_connection_whose_turn_does_not_come_in_time_is_dropped() -> None:
    door = Door(ConnectionLimits(burst_each=1, rate_each=0.01, turn_s=10))
    door.arrive(A, "first", "second")
    assert door.drain() == ["first"]
    door.now_s = 11.0
    assert door.drain() == []
    assert door.dropped == {WAITED: 1}
    assert door.limits.waiting == 0


def test_full_waiting_room_takes_the_place_of_the_longest_queue() -> None:
    door = Door(ConnectionLimits(waiting_each=100, waiting=100))
    door.arrive(A, *(f"flood{number}" for number in range(100)))
    door.arrive(B, "node")
    assert door.dropped == {QUEUE_FULL: 1}
    assert "node" in door.turn(2)


def test_waiting_room_full_of_single_connections_stays_consistent() -> None:
    door = Door(ConnectionLimits(waiting=10, burst=1000))
    for number in range(50):
        door.arrive(source_of(f"192.0.2.{number}"), f"stranger{number}")
    assert door.dropped == {QUEUE_FULL: 40}
    assert len(door.drain()) == 10


def test_oldest_connection_of_a_crowded_source_makes_place() -> None:
    door = Door(PLENTY._replace(open_each=3))
    door.arrive(A, "1", "2", "3", "4", "5")
    assert len(door.drain()) == 5
    assert (door.dropped, door.limits.open) == ({CROWDED: 2}, 3)


def test_source_with_most_connections_makes_place_when_all_are_taken() -> None:
    door = Door(PLENTY._replace(open=10))
    door.arrive(A, *(f"flood{number}" for number in range(9)))
    door.arrive(B, "early")
    door.drain()
    door.arrive(B, "node")
    assert door.turn() == ["node"]
    assert list(door.limits.establish("node", 0.0)) == [("flood0", CROWDED)]


def test_handshakes_of_a_source_wait_for_each_other_while_they_are_young() -> None:
    door = Door(PLENTY._replace(handshakes_each=3, patience_s=2))
    door.arrive(A, "1", "2", "3", "4", "5")
    assert len([*door.turn(), *door.turn(), *door.turn(), *door.turn()]) == 3
    assert door.turn() == []
    door.establish("2")
    assert door.turn() == ["4"]
    door.now_s = 2.5  # the others are slow: the oldest makes place
    assert door.turn() == ["5"]
    assert (door.dropped, door.limits.waiting) == ({CROWDED: 1}, 0)


def test_slow_handshakes_of_many_sources_make_place_for_others() -> None:
    door = Door(PLENTY._replace(handshakes=20, patience_s=2))
    for number in range(30):
        door.arrive(source_of(f"198.51.100.{number}"), f"slow{number}")
    assert len(door.turn()) == 20
    door.arrive(A, "node")
    door.now_s = 2.5
    assert "node" in door.turn()
    assert door.dropped == {CROWDED: 11}


def test_fleet_that_comes_back_at_once_is_let_in_completely() -> None:
    door = Door(ConnectionLimits())
    for number in range(4000):
        door.arrive(A, f"node{number}")
    welcomed = 0
    while begun := door.turn(4):
        for name in begun:
            assert door.limits.authenticate(name, name)
            welcomed += 1
    assert (welcomed, door.dropped) == (4000, {})


def test_networks_of_an_ipv6_site_have_a_common_limit() -> None:
    door = Door(PLENTY._replace(open_each=5))
    for number in range(40):
        door.arrive(source_of(f"2001:db8:0:{number:x}::1"), f"stranger{number}")
    assert len(door.drain()) == 40
    assert (door.dropped, door.limits.open) == ({CROWDED: 20}, 20)


def test_handshakes_of_an_ipv6_site_have_a_common_rate() -> None:
    door = Door(ConnectionLimits(burst_each=5, burst=1000))
    for number in range(40):
        door.arrive(source_of(f"2001:db8:0:{number:x}::1"), f"stranger{number}")
    assert len(door.drain()) == 20


def test_fleet_behind_one_address_is_not_limited() -> None:
    door = Door(ConnectionLimits())
    for number in range(5000):
        name = f"node{number}"
        door.arrive(A, name)
        assert door.turn() == [name]
        assert door.limits.authenticate(name, f"certificate {number}")
    assert not door.dropped
    assert door.limits.open == 0


def test_caller_with_too_many_connections_counts_as_a_stranger_again() -> None:
    door = Door(ConnectionLimits(authenticated_each=2))
    door.arrive(A, "1", "2", "3")
    door.drain()
    assert [door.limits.authenticate(name, "token") for name in "123"] == [True, True, False]
    assert door.limits.open == 1
    door.limits.end("1", "token")
    assert door.limits.authenticate("3", "token")


def test_known_source_goes_on_while_unknown_ones_exhaust_the_bucket_of_all() -> None:
    door = Door(ConnectionLimits(rate=1, burst=20))
    door.arrive(A, "node")
    door.drain()
    door.limits.authenticate("node", "certificate")
    for number in range(100):
        door.arrive(source_of(f"198.51.100.{number}"), f"stranger{number}")
    assert len(door.drain()) == 20
    door.arrive(B, "another")
    door.arrive(A, "node again")
    assert door.drain() == ["node again"]


def test_sources_are_forgotten_when_nothing_is_left_to_know() -> None:
    door = Door(ConnectionLimits())
    for number in range(100):
        door.arrive(source_of(f"2001:db8:0:{number:x}::1"), f"stranger{number}")
    for name in door.drain():
        door.limits.end(name, "")
    door.limits.forget_idle(3600.0)
    assert not door.limits._queues
    assert not door.limits._network_buckets
    assert door.limits.open == 0
