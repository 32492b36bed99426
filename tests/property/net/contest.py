"""Families of nets as in the Model Checking Contest, built by code in any size, each with the verdict that is known for it.

They are written from the textbooks that the contest's models come from, not copied: the dining philosophers, Kanban cells, trains on a
circular track, Dijkstra's self-stabilizing token ring, mutual exclusion by flags, producers and consumers, counters.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from precast.net.model.builder import Builder
from precast.net.model.structure import Net


class Case(NamedTuple):
    """A net, and whether a run of it can get stuck."""

    net: Net
    has_deadlock: bool

    @property
    def name(self) -> str:
        return self.net.declared.name


def philosophers(count: int, is_one_left_handed: bool = False) -> Case:
    """Each takes one fork, then the other. If all may begin with either they can get stuck; not if the order of forks is fixed."""
    builder = Builder(f"Philosophers-PT-{count:03}{'-ordered' if is_one_left_handed else ''}")
    for n in range(count):
        builder.place(f"Think_{n}", 1)
        builder.place(f"Fork_{n}", 1)
        builder.place(f"Eat_{n}")
    for n in range(count):
        left, right = f"Fork_{n}", f"Fork_{(n + 1) % count}"
        orders = [(left, right), (right, left)]
        if is_one_left_handed:
            orders = orders[:1] if n else orders[1:]
        for side, (first, second) in enumerate(orders):
            builder.place(f"Has_{n}_{side}")
            builder.transition(f"Take1_{n}_{side}", [f"Think_{n}", first], [f"Has_{n}_{side}"])
            builder.transition(f"Take2_{n}_{side}", [f"Has_{n}_{side}", second], [f"Eat_{n}"])
        builder.transition(f"End_{n}", [f"Eat_{n}"], [f"Think_{n}", left, right])
    return Case(builder.build(), not is_one_left_handed)


def kanban(tokens: int) -> Case:
    """Four production cells with a number of cards each (Ciardo and Tilgner): never stuck."""
    builder = Builder(f"Kanban-PT-{tokens:05}")
    for cell in range(1, 5):
        builder.place(f"P{cell}", tokens)
        for part in ("m", "back", "out"):
            builder.place(f"P{part}{cell}")
        builder.transition(f"tok{cell}", [f"Pm{cell}"], [f"Pout{cell}"])
        builder.transition(f"tredo{cell}", [f"Pm{cell}"], [f"Pback{cell}"])
        builder.transition(f"tback{cell}", [f"Pback{cell}"], [f"Pm{cell}"])
    builder.transition("tin1", ["P1"], ["Pm1"])
    builder.transition("tsynch1_23", ["Pout1", "P2", "P3"], ["P1", "Pm2", "Pm3"])
    builder.transition("tsynch4_23", ["Pout2", "Pout3", "P4"], ["P2", "P3", "Pm4"])
    builder.transition("tout4", ["Pout4"], ["P4"])
    return Case(builder.build(), has_deadlock=False)


def circular_trains(sections: int, trains: int) -> Case:
    """A train enters a section if that is free: stuck only where no section is free."""
    builder = Builder(f"CircularTrains-PT-{sections:03}-{trains:03}")
    for n in range(sections):
        builder.place(f"Section_{n}", int(n < trains))
        builder.place(f"Free_{n}", int(n >= trains))
    for n in range(sections):
        ahead = (n + 1) % sections
        builder.transition(f"T_{n}", [f"Section_{n}", f"Free_{ahead}"], [f"Section_{ahead}", f"Free_{n}"])
    return Case(builder.build(), trains == sections)


def token_ring(machines: int) -> Case:
    """Dijkstra's ring of machines with `machines` + 1 states: from any state at least one machine has the privilege to move."""
    states = machines + 1
    builder = Builder(f"TokenRing-PT-{machines:03}")
    for m in range(machines):
        for state in range(states):
            builder.place(f"State_{m}_{state}", int(state == m * m % states))
    for state in range(states):
        own, last = f"State_0_{state}", f"State_{machines - 1}_{state}"
        builder.transition(f"Bottom_{state}", [own], [f"State_0_{(state + 1) % states}"], reads=[last])
    for m in range(1, machines):
        for state in range(states):
            for before in set(range(states)) - {state}:
                moves = [f"State_{m}_{state}"], [f"State_{m}_{before}"]
                builder.transition(f"Other_{m}_{state}_{before}", *moves, reads=[f"State_{m - 1}_{before}"])
    return Case(builder.build(), has_deadlock=False)


def dekker(processes: int, gives_way: bool) -> Case:
    """Each raises its flag and enters when no other flag is up. Stuck when all have raised theirs, unless one can lower it again."""
    builder = Builder(f"Dekker-PT-{processes:03}{'' if gives_way else '-stubborn'}")
    for n in range(processes):
        builder.place(f"p1_{n}", 1)
        builder.place(f"p3_{n}")
        builder.place(f"cr_{n}")
        builder.place(f"flag0_{n}", 1)
        builder.place(f"flag1_{n}")
    for n in range(processes):
        others = [m for m in range(processes) if m != n]
        builder.transition(f"try_{n}", [f"p1_{n}", f"flag0_{n}"], [f"p3_{n}", f"flag1_{n}"])
        builder.transition(f"enter_{n}", [f"p3_{n}"], [f"cr_{n}"], reads=[f"flag0_{m}" for m in others])
        builder.transition(f"exit_{n}", [f"cr_{n}", f"flag1_{n}"], [f"p1_{n}", f"flag0_{n}"])
        for m in others if gives_way else ():
            lowered = [f"p3_{n}", f"flag1_{n}"], [f"p1_{n}", f"flag0_{n}"]
            builder.transition(f"withdraw_{n}_{m}", *lowered, reads=[f"flag1_{m}"])
    return Case(builder.build(), not gives_way)


def producers(pairs: int, puts: int, takes: int, room: int) -> Case:
    """A buffer with room for some: free of deadlock if it has room for the sum of both portions less their greatest common divisor."""
    builder = Builder(f"Producers-PT-{pairs}-{puts}-{takes}-{room}")
    builder.place("Room", room)
    builder.place("Full")
    for n in range(pairs):
        for place, tokens in (("Idle", 1), ("Ready", 0), ("Hungry", 1), ("Busy", 0)):
            builder.place(f"{place}_{n}", tokens)
        builder.transition(f"Produce_{n}", [f"Idle_{n}"], [f"Ready_{n}"])
        builder.transition(f"Put_{n}", {f"Ready_{n}": 1, "Room": puts}, {f"Idle_{n}": 1, "Full": puts})
        builder.transition(f"Take_{n}", {f"Hungry_{n}": 1, "Full": takes}, {f"Busy_{n}": 1, "Room": takes})
        builder.transition(f"Consume_{n}", [f"Busy_{n}"], [f"Hungry_{n}"])
    return Case(builder.build(), room < puts + takes - math.gcd(puts, takes))


def binary_counter(bits: int, wraps: bool) -> Case:
    """Counts through all numbers of so many bits, one after the other; at the last it stops, or begins again."""
    builder = Builder(f"Counter-PT-{bits:02}{'-wraps' if wraps else ''}")
    for n in range(bits):
        builder.place(f"Zero_{n}", 1)
        builder.place(f"One_{n}")
    zeros, ones = [f"Zero_{n}" for n in range(bits)], [f"One_{n}" for n in range(bits)]
    for n in range(bits):
        builder.transition(f"Carry_{n}", [zeros[n], *ones[:n]], [ones[n], *zeros[:n]])
    if wraps:
        builder.transition("Wrap", ones, zeros)
    return Case(builder.build(), not wraps)


def exchange(coins: int, price: int, change: int) -> Case:
    """A machine that takes `price` tokens and returns `change` of them: stuck when fewer than the price are left."""
    builder = Builder(f"Exchange-PT-{coins}-{price}-{change}")
    builder.place("Coins", coins)
    builder.place("Till")
    builder.transition("Buy", {"Coins": price}, {"Coins": change, "Till": price - change})
    return Case(builder.build(), has_deadlock=True)


def small_cases() -> Iterator[Case]:
    """Cases whose whole state space can be listed."""
    yield from (philosophers(n, ordered) for n in (2, 3, 4, 5) for ordered in (False, True))
    yield from map(kanban, (1, 2))
    yield from (circular_trains(n, trains) for n in (2, 5, 8) for trains in {1, n // 2, n - 1, n})
    yield from map(token_ring, (2, 3, 4))
    yield from (dekker(n, gives_way) for n in (2, 3, 5) for gives_way in (False, True))
    yield from (producers(pairs, puts, takes, room) for pairs in (1, 2) for puts, takes, room in PORTIONS)
    yield from (binary_counter(bits, wraps) for bits in (1, 4, 9) for wraps in (False, True))
    yield from (exchange(*numbers) for numbers in ((10, 3, 1), (1_000, 7, 2), (300, 256, 1)))


def large_cases() -> Iterator[Case]:
    """Cases that no list of all states fits, but that the search decides."""
    yield from (philosophers(50), philosophers(400), philosophers(8, is_one_left_handed=True))
    yield from (kanban(4), circular_trains(300, 300), circular_trains(60, 59), circular_trains(200, 1))
    yield from (dekker(8, gives_way=True), dekker(100, gives_way=False))
    yield from (producers(5, 3, 5, 6), producers(3, 3, 5, 7), binary_counter(13, wraps=True), exchange(100_000, 9, 2))


# Portions put and taken, and the room: just enough, and one too few.
PORTIONS = ((1, 1, 1), (2, 3, 4), (2, 3, 3), (4, 6, 8), (4, 6, 7), (5, 3, 7), (5, 3, 6))
