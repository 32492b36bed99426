"""A run as a net: who may begin now.

A node's turn is a transition. It holds a slot, if there is a limit to how many are at it; it reads *go*, which is taken away when more
have failed than is tolerated; and it reads *open* of its batch, which comes when everybody of the batch before has ended. The same
function makes the net of a whole run and of what is left of one, so what is stored of a run is only how each node stands: a server
that takes a run over makes the net of that and goes on.
"""

from collections.abc import Sequence
from typing import NamedTuple

from precast.net.execution.execution import Execution
from precast.net.model.builder import Builder
from precast.net.model.structure import Net

# What makes the name of a node the name of its transition: nodes may be called whatever they like.
TURN = ": turn"


class Limits(NamedTuple):
    """How a run may spread; None stands for no limit."""

    at_once: int | None = None
    tolerate: int | None = None


class Batch(NamedTuple):
    """What is left of one batch: how many are at it, whose turn is to come, and whether those are all."""

    running: int
    waiting: Sequence[str]
    is_whole: bool = True


def net_of(limits: Limits, failures: int, batches: Sequence[Batch]) -> Net:
    """The net of what is left, from the batch that is open on."""
    net = Builder("run")
    running = sum(batch.running for batch in batches)
    if limits.at_once is not None:
        net.limit("slots", max(0, limits.at_once - running))
    net.place("go", 1)
    net.place("failures", failures)
    if limits.tolerate is not None:
        net.transition("halt", {"failures": limits.tolerate + 1, "go": 1}, priority=1, is_auto=True)
    for number, batch in enumerate(batches):
        is_open, over = f"batch {number} open", f"batch {number} over"
        net.place(is_open, int(number == 0))
        net.place(over)
        for node in batch.waiting:
            net.transition(
                node + TURN,
                takes=[f"{node}: to do"],
                reads=["go", is_open],
                holds=["slots"] if limits.at_once is not None else (),
                gives=[over],
                on_failure=[over, "failures"],
            )
            net.place(f"{node}: to do", 1)
        if number + 1 == len(batches) or not batch.is_whole:
            break
        net.transition(
            f"batch {number} ends",
            {over: batch.running + len(batch.waiting)},
            reads=["go"],
            gives=[f"batch {number + 1} open"],
            is_auto=True,
        )
    return net.build()


class Turns(NamedTuple):
    """Who may begin now, and whether too many have failed for anybody else to."""

    nodes: list[str]
    is_halted: bool


def turns(limits: Limits, failures: int, batches: Sequence[Batch]) -> Turns:
    """Start what the net allows."""
    net = net_of(limits, failures, batches)
    execution = Execution(net)
    begun: list[str] = []
    while (t := execution.start_next()) is not None:
        begun.append(net.transition_name(t).removesuffix(TURN))
    return Turns(begun, not execution.tokens[net.places_by_name["go"]])


def batches_of(running: tuple[int | None, int], waiting: Sequence[tuple[str, int]], is_all: bool) -> list[Batch]:
    """What is left, by batch, from how many are at it (and in which batch the first of them) and whose turn comes next."""
    open_batch, at_it = running
    by_batch: dict[int, list[str]] = {} if open_batch is None else {open_batch: []}
    for node, batch in waiting:
        by_batch.setdefault(batch, []).append(node)
    numbers = sorted(by_batch)
    return [
        Batch(at_it if number == open_batch else 0, by_batch[number], is_all or number != numbers[-1])
        for number in numbers
    ]
