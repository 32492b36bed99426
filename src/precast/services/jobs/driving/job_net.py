"""A job as a net: which steps may start now.

The turn of a step is a transition. It holds a slot, if the job limits how many nodes run at once; it takes a token of the rate, which time
gives; it reads *go*, which is taken away when more steps have failed than the job tolerates, or one of the canary has; and it reads *open*
of its batch, which is given when all steps of the batch before are over.

A run that has nothing to do but wait for values of other nodes is *parked*: until it ends it holds no slot, and its batch does not wait
for it, because the node that has the value may be in a later one. Only the others of a canary still wait for it.

A node that is away holds up nobody: its step leaves its batch and its slot. When the node is back, its step starts as a *late* one, within
the same limits and outside the batches.

The net stays in memory while a server drives the job. A server that takes the job over computes the same marking from the stored states of
the steps, and both choose the same steps.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from precast.net.execution.execution import FORMAT, Execution
from precast.net.model.builder import Builder
from precast.net.model.declarations import Outcome
from precast.net.model.structure import Net
from precast.store.jobs.attempts import StepState
from precast.wire.jobs import states

_LATE_TURN = "late turn"
_FAILURES = (states.FAILED, states.EXPIRED)


class StepKey(NamedTuple):
    """Names a step of a job."""

    task: int
    node: str


class NetLimits(NamedTuple):
    """How many nodes may run at once, and how many may fail; None means no limit. With a canary, none of the first batch may fail."""

    at_once: int | None = None
    tolerate: int | None = None
    has_canary: bool = False
    has_rate: bool = False


def is_failure(state: str) -> bool:
    """Whether a step in this state counts against the tolerance."""
    return state in _FAILURES


class JobNet:
    """The execution of a job's net. It knows where each step is: waiting, away, late, running or ended."""

    def __init__(self, limits: NetLimits, steps: Iterable[StepState], *, is_going: bool = True) -> None:
        """The net of the steps of one round in their order, with the marking that their states mean."""
        listed = list(steps)
        self._limits = limits
        self._keys = [StepKey(step.task, step.node) for step in listed]
        self._numbers = {key: number for number, key in enumerate(self._keys)}
        self._batches = {key: step.batch for key, step in zip(self._keys, listed, strict=True)}
        self._sizes = Counter(self._batches.values())
        self._order = sorted(self._sizes)
        self._net = _build(limits, self._keys, self._batches, self._sizes)
        self._ended: set[StepKey] = set()
        self._away: set[StepKey] = set()
        self._late: list[StepKey] = []
        self._held: set[StepKey] = set()  # while the canary waits for its windows; they do not leave their batches
        self._running: dict[StepKey, int] = {}
        self._parked: set[StepKey] = set()
        self._execution = self._restore(listed, is_going)

    # What happens

    def start_next(self) -> StepKey | None:
        """Start the next step and return it; None if none may start now."""
        t = self._execution.start_next()
        if t is None:
            return None
        if t == len(self._keys):
            # In the order of the steps, not of the returns: a server that takes the job over does not know the latter.
            key = min(self._late, key=self._numbers.__getitem__)
            self._late.remove(key)
        else:
            key = self._keys[t]
        self._running[key] = t
        return key

    def end(self, key: StepKey, state: str, reason: str | None = None) -> None:
        """A step has ended in this state, whether it had its turn or not. What is known already changes nothing."""
        if key in self._ended or key not in self._numbers:
            return
        self._ended.add(key)
        has_failed = is_failure(state)
        if (t := self._running.pop(key, None)) is not None:
            self._execution.finish(t, Outcome.FAILURE if has_failed else Outcome.SUCCESS)
            if key in self._parked:
                self._parked.discard(key)
                self._put_parked(key, t, -1)  # what its end has given, it had given before
            if has_failed and t == len(self._keys):
                self._count_canary(key)
            return
        if key in self._away:
            self._away.discard(key)
        elif key in self._held:
            self._held.discard(key)
            self._put(_over(self._batches[key]), 1)
        elif key in self._late:
            self._late.remove(key)
            self._put("late", -1)
        else:
            self._put(_to_do(key), -1)
            self._put(_over(self._batches[key]), 1)
        if has_failed:
            self._put("failures", 1)
            self._count_canary(key)

    def park(self, key: StepKey) -> None:
        """The run of a step has nothing to do but wait for values of others. What is known already changes nothing."""
        t = self._running.get(key)
        if t is not None and key not in self._parked:
            self._parked.add(key)
            self._put_parked(key, t, 1)

    def _put_parked(self, key: StepKey, t: int, count: int) -> None:
        if self._limits.at_once is not None:
            self._put("slots", count)
        if t != len(self._keys) and not self._is_canary(key):
            self._put(_over(self._batches[key]), count)

    def postpone(self, key: StepKey, *, is_held: bool = False) -> None:
        """The node of a step that has its turn is away: the step gives back its slot and leaves its batch.

        With `is_held` the node may not begin for now: a canary then stays in its batch.
        """
        t = self._running.pop(key)
        self._execution.finish(t, Outcome.SKIPPED)
        if t == len(self._keys) or not self._is_canary(key):
            self._away.add(key)
        elif is_held:
            self._held.add(key)
        else:
            self._put(_over(self._batches[key]), 1)
            self._away.add(key)

    def hold(self, nodes: Iterable[str]) -> None:
        """Nodes may not begin for now: their steps leave their batches, as though the nodes were away.

        Not so while the canary has steps to do: the others would begin without it. Then they stay in their batches, and all wait.
        """
        names = set(nodes)
        for key in [key for key in self.waiting if key.node in names]:
            if key in self._late:
                self._late.remove(key)
                self._put("late", -1)
                self._away.add(key)
            else:
                self._put(_to_do(key), -1)
                self._held.add(key)
        if self._is_canary_over:
            for key in self._held:
                self._put(_over(self._batches[key]), 1)
            self._away |= self._held
            self._held.clear()

    def return_nodes(self, nodes: Iterable[str]) -> bool:
        """Nodes are back; whether any of them was away in this job."""
        names = set(nodes)
        opened = [key for key in self._held if key.node in names]
        for key in opened:
            self._held.discard(key)
            self._put(_to_do(key), 1)
        back = sorted((key for key in self._away if key.node in names), key=self._numbers.__getitem__)
        for key in back:
            self._away.discard(key)
            self._late.append(key)
        self._put("late", len(back))
        return bool(back or opened)

    def add_rate(self, count: int, most: int) -> None:
        """Time has passed: so many more steps may start, but no more than `most` at once."""
        unused = self._execution.tokens[self._net.places_by_name["rate"]]
        self._put("rate", max(0, min(count, most - unused)))

    # What is so

    @property
    def is_halted(self) -> bool:
        """Whether too many steps have failed for any other to start."""
        tokens, places, limits = self._execution.tokens, self._net.places_by_name, self._limits
        return (
            not tokens[places["go"]]
            or (limits.tolerate is not None and tokens[places["failures"]] > limits.tolerate)
            or (limits.has_canary and tokens[places["canary failures"]] > 0)
        )

    @property
    def is_over(self) -> bool:
        """Whether all steps have ended."""
        return len(self._ended) == len(self._keys)

    @property
    def running(self) -> list[StepKey]:
        """The steps that have their turn."""
        return list(self._running)

    @property
    def running_count(self) -> int:
        return len(self._running)

    @property
    def away(self) -> list[StepKey]:
        """The steps whose nodes are waited for."""
        return list(self._away)

    @property
    def waiting(self) -> list[StepKey]:
        """The steps without a turn whose nodes are not away, and may begin as far as is known."""
        others = self._ended | self._running.keys() | self._away | self._held
        return [key for key in self._keys if key not in others]

    @property
    def waiting_nodes(self) -> set[str]:
        """The nodes that are not away and on which a step waits for its turn."""
        return {key.node for key in self.waiting}

    @property
    def has_waiting(self) -> bool:
        """Whether a step whose node is not away has no turn yet. Without the canary, which is held, no other begins."""
        if self._held and not self._late and not self._is_canary_over:
            return any(self._is_canary(key) for key in self.waiting)
        return len(self._ended) + len(self._running) + len(self._away) + len(self._held) < len(self._keys)

    def _is_canary(self, key: StepKey) -> bool:
        return self._limits.has_canary and self._batches[key] == self._order[0]

    @property
    def _is_canary_over(self) -> bool:
        """Whether no step of the canary is left in its batch; also if there is no canary."""
        return not any(self._is_canary(key) and not self._has_left_batch(key) for key in self._keys)

    def _has_left_batch(self, key: StepKey) -> bool:
        is_late = key in self._late or self._running.get(key) == len(self._keys)
        return is_late or key in self._ended or key in self._away

    def _count_canary(self, key: StepKey) -> None:
        """Count the failure of a step of the canary, which the end of its own turn has not counted."""
        if self._is_canary(key):
            self._put("canary failures", 1)

    def _put(self, place: str, count: int) -> None:
        self._execution.put(self._net.places_by_name[place], count)

    def _restore(self, steps: Sequence[StepState], is_going: bool) -> Execution:
        """The execution with the marking that the states of the steps mean."""
        tokens = {"go": int(is_going), "failures": 0}
        over: Counter[int] = Counter()
        running: list[int] = []
        for key, step in zip(self._keys, steps, strict=True):
            is_open = step.state in states.OPEN_STATES
            is_running = step.state == states.PICKED_UP or (step.state == states.QUEUED and step.has_turn)
            tokens[_to_do(key)] = int(is_open and not is_running and not step.tries)
            if not is_open or step.tries:
                over[step.batch] += 1
            if not is_open:
                self._ended.add(key)
            elif is_running:
                self._running[key] = len(self._keys) if step.tries else self._numbers[key]
                running.append(self._running[key])
                if step.is_parked:
                    self._parked.add(key)
                    over[step.batch] += not step.tries and not self._is_canary(key)
            elif step.tries:
                self._away.add(key)
            if is_failure(step.state):
                tokens["failures"] += 1
                if self._limits.has_canary and step.batch == self._order[0]:
                    tokens["canary failures"] = tokens.get("canary failures", 0) + 1
        if self._limits.at_once is not None:
            tokens["slots"] = max(0, self._limits.at_once - len(running) + len(self._parked))
        is_open = True
        for batch in self._order:
            tokens[_open(batch)] = int(is_open)
            is_complete = is_open and over[batch] == self._sizes[batch] and batch != self._order[-1]
            tokens[_over(batch)] = 0 if is_complete else over[batch]
            is_open = is_complete
        places = self._net.places_by_name
        marking = [0] * len(places)
        for place, count in tokens.items():
            marking[places[place]] = count
        snapshot = {
            "format": FORMAT,
            "net": self._net.digest,
            "tokens": marking,
            "running": sorted(running),
            "latest": "0" * len(self._net.declared.transitions),
            "ended": 0,
        }
        return Execution.restore(self._net, snapshot)


def _build(limits: NetLimits, keys: Sequence[StepKey], batches: dict[StepKey, int], sizes: Counter[int]) -> Net:
    """The net of a job; the transitions of its steps come first, in their order, then the turn of late steps."""
    net = Builder("job")
    order = sorted(sizes)
    holds = ["slots"] if limits.at_once is not None else []
    rate = ["rate"] if limits.has_rate else []
    net.place("go", 1)
    net.place("failures")
    net.place("late")
    if limits.at_once is not None:
        net.limit("slots", limits.at_once)
    if limits.has_rate:
        net.place("rate")
    if limits.has_canary:
        net.place("canary failures")
    for batch in order:
        net.place(_open(batch), int(batch == order[0]))
        net.place(_over(batch))
    for key in keys:
        batch = batches[key]
        is_canary = limits.has_canary and batch == order[0]
        canary = ["canary failures"] if is_canary else []
        net.place(_to_do(key), 1)
        net.transition(
            f"{key.task} {key.node}: turn",
            takes=[_to_do(key), *rate],
            reads=["go", _open(batch)],
            holds=holds,
            gives=[_over(batch)],
            on_failure=[_over(batch), "failures", *canary],
            # Of the canary, the step itself may stay in its batch.
            on_skip=rate if is_canary else [_over(batch), *rate],
        )
    net.transition(_LATE_TURN, takes=["late", *rate], reads=["go"], holds=holds, on_failure=["failures"], on_skip=rate)
    if limits.tolerate is not None:
        net.transition("halt", {"failures": limits.tolerate + 1, "go": 1}, priority=1, is_auto=True)
    if limits.has_canary:
        net.transition("canary halts", {"canary failures": 1, "go": 1}, priority=1, is_auto=True)
    for batch, following in pairwise(order):
        net.transition(
            f"batch {batch} ends",
            {_over(batch): sizes[batch]},
            reads=["go", _open(batch)],
            gives=[_open(following)],
            priority=1,
            is_auto=True,
        )
    return net.build()


def _to_do(key: StepKey) -> str:
    # The suffix keeps it apart from the names of other places: a node may have any name.
    return f"{key.task} {key.node}: to do"


def _open(batch: int) -> str:
    return f"batch {batch} open"


def _over(batch: int) -> str:
    return f"batch {batch} over"
