"""What a kind of job does: the net of its steps, and the order of each step. The driver knows nothing else of kinds.

Runs, commands and actions have one task, and a net of batches (`StepsOfOneTask`). Plans bring their own.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from precast.services.jobs.driving.job_net import JobNet, StepKey
from precast.services.jobs.order_bodies import OrderBody, make_order
from precast.services.jobs.requests import JobRequest
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import AttemptKey, Ending, StepState
from precast.store.jobs.jobs import JobRow
from precast.wire.jobs import states


class StepNet(Protocol):
    """The net of a job in memory. It knows where each step is: waiting, away, running or ended."""

    def start_next(self) -> StepKey | None:
        """Start the next step and return it; None if none may start now."""

    def end(self, key: StepKey, state: str, reason: str | None = None) -> None:
        """A step has ended in this state, whether it had its turn or not. What is known already changes nothing."""

    def park(self, key: StepKey) -> None:
        """The run of a step has nothing to do but wait for values of others: until it ends it holds nobody up."""

    def postpone(self, key: StepKey, *, is_held: bool = False) -> None:
        """The node of a step that has its turn is away, or with `is_held` may not begin for now: the step waits for it."""

    def hold(self, nodes: Iterable[str]) -> None:
        """Nodes may not begin for now, as though they were away."""

    def return_nodes(self, nodes: Iterable[str]) -> bool:
        """Nodes are back; whether any of them was away in this job."""

    def add_rate(self, count: int, most: int) -> None:
        """Time has passed: so many more steps may start, but no more than `most` at once."""

    @property
    def is_halted(self) -> bool:
        """Whether too many steps have failed for any other to start."""

    @property
    def is_over(self) -> bool:
        """Whether all steps have ended."""

    @property
    def running(self) -> Sequence[StepKey]:
        """The steps that have their turn."""

    @property
    def running_count(self) -> int:
        """How many they are."""

    @property
    def away(self) -> Sequence[StepKey]:
        """The steps whose nodes are waited for."""

    @property
    def waiting_nodes(self) -> set[str]:
        """The nodes that are not away and on which a step waits for its turn."""

    @property
    def has_waiting(self) -> bool:
        """Whether a step whose node is not away has no turn yet."""


class SettledStep(NamedTuple):
    """A step that ends without an order, and how."""

    key: StepKey
    ending: Ending


class JobWork(Protocol):
    """The work of one job while a server drives it."""

    @property
    def net(self) -> StepNet: ...

    # The tasks that still begin when a job halts, because they clean up.
    @property
    def always_tasks(self) -> Collection[int]: ...

    async def refresh(self) -> None:
        """Read what people have decided since the last pass."""

    def note_ends(self, job: JobRow, changed: Sequence[StepState]) -> Transaction[None]:
        """Store what follows from the ends of steps, in the transaction that numbers their changes."""

    def settle(self, key: StepKey) -> Ending | None:
        """How a step ends that has got its turn and needs no node; None if it is to be ordered."""

    def take_unreachable(self) -> list[SettledStep]:
        """The steps that can never begin any more, because others have failed; each is returned once."""

    def lost_after_s(self, key: StepKey) -> float | None:
        """How long a node may be disconnected while it works on a step; None: until the step's deadline."""

    def prepare_orders(self, keys: Iterable[StepKey]) -> Transaction[None]:
        """Read what the orders of these steps need in common, in the transaction that makes them."""

    def make_order(
        self, job: JobRow, key: AttemptKey, now: datetime, due_at: datetime, seal: bytes | None
    ) -> Transaction[OrderBody | Ending]:
        """The order of an attempt, or how the attempt ends because it can have none.

        Orders are made side by side: what one of them reads, another reads too.
        """


class StepsOfOneTask:
    """The work of runs, commands and actions: the same order to each node."""

    always_tasks: Collection[int] = ()

    def __init__(self, job: JobRow, request: JobRequest, steps: Iterable[StepState]) -> None:
        in_round = [step for step in steps if step.n == job.round]
        self._request = request
        self.net = JobNet(request.net_limits, in_round, is_going=job.state == states.GOING)

    async def refresh(self) -> None:
        """Nothing but the steps decides."""

    def note_ends(self, job: JobRow, changed: Sequence[StepState]) -> Transaction[None]:
        yield from ()

    def settle(self, key: StepKey) -> Ending | None:
        return None

    def take_unreachable(self) -> list[SettledStep]:
        return []

    def lost_after_s(self, key: StepKey) -> float | None:
        return None

    def prepare_orders(self, keys: Iterable[StepKey]) -> Transaction[None]:
        yield from ()

    def make_order(
        self, job: JobRow, key: AttemptKey, now: datetime, due_at: datetime, seal: bytes | None
    ) -> Transaction[OrderBody | Ending]:
        yield from ()
        return make_order(job, self._request, key, now, due_at, seal)
