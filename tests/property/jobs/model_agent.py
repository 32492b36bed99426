"""A machine as a model: it stores orders, claims them, and executes one only on a grant that answers its latest claim.

Its store can be copied and set back, as a snapshot of a virtual machine is, and it can be lost. What a machine has executed is part of its
disk: a snapshot that is restored undoes it, the loss of the store does not.
"""

import copy
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

import msgspec

from precast.services.jobs.results import OrderReport
from precast.wire.jobs import orders as wire
from precast.wire.jobs.orders import Abort, Claim, ExecEnded, Grant, NotRun, RunOrder
from precast.wire.sessions import Record

_numbers = count(1)


@dataclass
class StoredOrder:
    """An order in the machine's store: waiting, claimed, granted, begun or ended."""

    state: str = "waiting"
    claim: int = 0
    is_aborted: bool = False


@dataclass
class MachineState:
    """All that a snapshot of the machine contains."""

    instance: str
    received: int = 0
    orders: dict[str, StoredOrder] = field(default_factory=dict)
    unsent: list[OrderReport] = field(default_factory=list)
    executed: set[int] = field(default_factory=set)  # the numbers of executions whose effects are on the disk


class Executions:
    """All executions that ever happened, also those that were undone."""

    def __init__(self) -> None:
        self._all: dict[tuple[str, str], list[int]] = {}
        self.undone: set[int] = set()

    def add(self, node: str, order: str, machine: MachineState) -> None:
        """Note an execution. An attempt is executed twice only if the first execution was undone with the machine's state."""
        earlier = self._all.setdefault((node, order), [])
        assert set(earlier) <= self.undone, f"{order} is executed twice on {node}"
        earlier.append(next(_numbers))
        machine.executed.add(earlier[-1])

    def has(self, node: str, order: str) -> bool:
        return (node, order) in self._all


class ModelAgent:
    """The machine of one node."""

    def __init__(self, node: str, executions: Executions) -> None:
        self.node = node
        self.state = MachineState(f"{node}-store-1")
        self.snapshot: MachineState | None = None
        self.sent: list[OrderReport] = []  # what was sent lately, which may arrive again
        self._executions = executions
        self._stores = 1

    # What happens to the machine

    def take_snapshot(self) -> None:
        self.snapshot = copy.deepcopy(self.state)

    def roll_back(self) -> None:
        """Go on from the snapshot: what was executed since is undone."""
        if self.snapshot is not None:
            self._executions.undone |= self.state.executed - self.snapshot.executed
            self.state = copy.deepcopy(self.snapshot)
            self.restart()

    def lose_store(self) -> None:
        """The store is deleted; what was executed stays executed."""
        self._stores += 1
        self.state = MachineState(f"{self.node}-store-{self._stores}", executed=self.state.executed)
        self.snapshot = None
        self.sent = []

    def restart(self) -> None:
        """The daemon starts again, or connects again: what was not begun is claimed again. A command that was begun was interrupted."""
        for stored in self.state.orders.values():
            if stored.state in ("claimed", "granted"):
                stored.state = "waiting"

    def crash(self, now: datetime) -> None:
        """The machine stops at once, and starts again."""
        for order, stored in self.state.orders.items():
            if stored.state == "begun":
                self._answer(order, NotRun(order, "interrupted", "it was broken off", now))
        self.restart()

    # What it receives

    def receive(self, record: Record, now: datetime) -> None:
        self.state.received = record.number
        if record.kind == wire.RUN:
            self.state.orders.setdefault(msgspec.json.decode(record.body, type=RunOrder).order, StoredOrder())
        elif record.kind == wire.GRANT:
            self._follow(msgspec.json.decode(record.body, type=Grant))
        elif record.kind == wire.ABORT:
            self._abort(msgspec.json.decode(record.body, type=Abort).order, now)

    def _follow(self, grant: Grant) -> None:
        stored = self.state.orders.get(grant.order)
        if stored is not None and stored.state == "claimed" and stored.claim == grant.claim:
            stored.state = "granted" if grant.is_granted else "ended"

    def _abort(self, order: str, now: datetime) -> None:
        stored = self.state.orders.get(order)
        if stored is None or stored.state == "ended":
            return
        if stored.state == "begun":
            stored.is_aborted = True
        else:
            self._answer(order, NotRun(order, "aborted", "it was aborted before it began", now))

    # What it does

    def make_claims(self) -> list[Claim]:
        """Claim all orders that wait."""
        claims = []
        for order, stored in self.state.orders.items():
            if stored.state == "waiting":
                stored.state, stored.claim = "claimed", stored.claim + 1
                claims.append(Claim(order, stored.claim, self.state.instance, "boot"))
        return claims

    def begin(self) -> bool:
        """Begin to execute an order that is granted, unless another one is being executed."""
        states = {stored.state for stored in self.state.orders.values()}
        if "begun" in states or "granted" not in states:
            return False
        order, stored = next(
            (order, stored) for order, stored in self.state.orders.items() if stored.state == "granted"
        )
        stored.state = "begun"
        self._executions.add(self.node, order, self.state)
        return True

    def end(self, is_success: bool, now: datetime) -> None:
        """End what is being executed."""
        for order, stored in self.state.orders.items():
            if stored.state == "begun":
                if stored.is_aborted:
                    self._answer(order, NotRun(order, "aborted", "it was told to end", now))
                else:
                    self._answer(order, ExecEnded(order, now, code=0 if is_success else 1))

    def refuse(self, now: datetime) -> None:
        """Refuse what waits to be claimed."""
        for order, stored in self.state.orders.items():
            if stored.state == "waiting":
                self._answer(order, NotRun(order, "refused", "the policy of the node", now))

    def _answer(self, order: str, report: OrderReport) -> None:
        self.state.orders[order].state = "ended"
        self.state.unsent.append(report)
