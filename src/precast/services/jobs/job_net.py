"""A job as a net: which nodes may start now.

A node's turn is a transition. It holds a slot, if the job limits how many nodes run at once; it reads *go*, which is taken away when more
nodes have failed than the job tolerates; and it reads *open* of its batch, which is given when all nodes of the batch before have ended.
The same function builds the net of a whole job and of the rest of one, so the database stores only the state of each node: a server that
takes a job over builds the net from those states and goes on.
"""

from collections.abc import Sequence
from typing import NamedTuple

from precast.net.execution.execution import Execution
from precast.net.model.builder import Builder
from precast.net.model.structure import Net

# The suffix that makes the name of a node the name of its transition: a node may have any name.
TURN = ": turn"


class NetLimits(NamedTuple):
    """How many nodes may run at once, and how many may fail; None means no limit."""

    at_once: int | None = None
    tolerate: int | None = None


class Batch(NamedTuple):
    """The rest of one batch: how many nodes are running, which are waiting, and whether the waiting ones are all."""

    running: int
    waiting: Sequence[str]
    is_whole: bool = True


def build_net(limits: NetLimits, failures: int, batches: Sequence[Batch]) -> Net:
    """The net of the rest of a job, beginning with the open batch."""
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


class StartableNodes(NamedTuple):
    """The nodes that may start now, and whether too many have failed for any other node to start."""

    nodes: list[str]
    is_halted: bool


def find_startable(limits: NetLimits, failures: int, batches: Sequence[Batch]) -> StartableNodes:
    """Run the net as far as it goes: the nodes whose transitions start."""
    net = build_net(limits, failures, batches)
    execution = Execution(net)
    started: list[str] = []
    while (transition := execution.start_next()) is not None:
        started.append(net.transition_name(transition).removesuffix(TURN))
    return StartableNodes(started, not execution.tokens[net.places_by_name["go"]])


def group_batches(running: tuple[int | None, int], waiting: Sequence[tuple[str, int]], is_all: bool) -> list[Batch]:
    """The rest of a job by batch: from the first batch with running nodes and their number, and the waiting nodes with their batches."""
    open_batch, running_count = running
    by_batch: dict[int, list[str]] = {} if open_batch is None else {open_batch: []}
    for node, batch in waiting:
        by_batch.setdefault(batch, []).append(node)
    numbers = sorted(by_batch)
    return [
        Batch(running_count if number == open_batch else 0, by_batch[number], is_all or number != numbers[-1])
        for number in numbers
    ]
