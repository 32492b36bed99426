"""A local store with queued orders, and a made-up server that sends records and reads those of the node."""

from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from precast.agent.orders.registry import OrderRegistry, StoredOrder
from precast.agent.state.spool import Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.base.clock import ManualClock
from precast.wire.jobs.orders import (
    ABORT,
    CLAIM,
    EXEC,
    GRANT,
    NOT_RUN,
    RUN,
    Abort,
    Claim,
    Grant,
    NotRun,
    PlainOrder,
    RunOrder,
    SignedExecOrder,
)
from tests.unit.agent.state.records import record

K = TypeVar("K", bound=msgspec.Struct)


class Node:
    """A node without processes. `restart` is a kill of everything: only the file is left."""

    def __init__(self, root: Path, clock: ManualClock) -> None:
        self.root, self.clock = root, clock
        self._open()

    def _open(self) -> None:
        self.store = LocalStore.open(self.root, lambda: "instance", self.clock)
        self.spool = Spool(self.store, SpoolLimits())
        self.registry = OrderRegistry(self.store, self.spool)
        self.claims = self.registry.claims

    def close(self) -> None:
        self.store.close()

    def restart(self) -> None:
        """Kill the node's processes and start its daemon again."""
        self.store.close()
        self._open()
        self.claims.requeue()
        self.registry.resolve_begun()

    def receive(self, kind: str, body: object) -> StoredOrder | None:
        return self.registry.receive(record(self.store.session_state().received + 1, kind, body))

    def order(self, order: str, kind: str = RUN) -> bool:
        expires_at = self.clock.now() + timedelta(minutes=5)
        body: object = PlainOrder(order, expires_at)
        if kind == RUN:
            body = RunOrder(order, "enforce", expires_at)
        elif kind == EXEC:
            body = SignedExecOrder(order, expires_at, 60.0, '{"argv":["uptime"]}', "")
        return self.receive(kind, body) is not None

    def grant(self, order: str, claim: int | None = None, *, is_granted: bool = True) -> bool:
        """Answer the latest claim of an order, or another one; whether that was an answer."""
        claim = self.claim_of(order) if claim is None else claim
        return self.receive(GRANT, Grant(order, claim, "instance", is_granted)) is not None

    def abort(self, order: str) -> bool:
        return self.receive(ABORT, Abort(order, "a test")) is not None

    def let_begin(self, order: str, kind: str = RUN) -> None:
        """Order, claim, grant and begin."""
        self.order(order, kind)
        self.claims.claim_waiting()
        self.grant(order)
        self.registry.queue(kind).begin(order)

    def state(self, order: str) -> str:
        ((state,),) = self.store.read("SELECT state FROM queued_order WHERE id = ?", (order,))
        return str(state)

    def claim_of(self, order: str) -> int:
        ((claim,),) = self.store.read("SELECT claim FROM queued_order WHERE id = ?", (order,))
        return int(claim)

    def sent(self, kind: str, message: type[K]) -> list[K]:
        rows = self.store.read("SELECT body FROM record WHERE kind = ? ORDER BY id", (kind,))
        return [msgspec.json.decode(body, type=message) for (body,) in rows]

    def kinds_sent(self) -> list[str]:
        """The kinds of the records that the node has sent, without claims."""
        return [kind for (kind,) in self.store.read("SELECT kind FROM record ORDER BY id") if kind != CLAIM]

    def claimed(self) -> list[tuple[str, int]]:
        return [(claim.order, claim.number) for claim in self.sent(CLAIM, Claim)]

    def answers(self) -> list[tuple[str, str]]:
        return [(answer.order, answer.reason) for answer in self.sent(NOT_RUN, NotRun)]

    def next(self) -> Any:
        granted = self.claims.next_granted()
        return None if granted is None else granted.id
