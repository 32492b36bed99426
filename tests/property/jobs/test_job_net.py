"""The net of a job against a model without the kernel, and against itself: the net that stays in memory, and the net that another server
computes from the stored states, start the same steps after every event. Nothing starves: a step whose node is present starts, unless
another one runs, the job is halted, or the rate has to be waited for."""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precast.services.jobs.driving.job_net import JobNet, NetLimits, StepKey
from precast.store.jobs.attempts import StepState
from precast.wire.jobs import states

STEPS = Counter[str]()
FAILURES = (states.FAILED, states.EXPIRED)
MOST_RATE = 3


@dataclass
class Step:
    """What is stored of a step. It has tries if its node was ever away."""

    place: int
    node: str
    batch: int
    state: str = states.QUEUED
    has_turn: bool = False
    tries: int = 0
    is_parked: bool = False

    @property
    def is_open(self) -> bool:
        return self.state in states.OPEN_STATES

    @property
    def is_running(self) -> bool:
        return self.is_open and self.has_turn

    @property
    def waits(self) -> bool:
        return self.is_open and not self.has_turn

    @property
    def is_over(self) -> bool:
        """Whether its batch no longer waits for it."""
        return not self.is_open or self.tries > 0

    def stored(self) -> StepState:
        is_parked = self.is_parked and self.is_open
        return StepState(
            *(1, self.node, 1, self.place, self.batch, self.state, None, self.has_turn, False, self.tries),
            is_parked=is_parked,
        )


@dataclass
class Model:
    """The rules of a job, as its documentation describes them."""

    limits: NetLimits
    steps: list[Step]
    present: set[str] = field(default_factory=set)
    rate: int = 0

    @property
    def is_halted(self) -> bool:
        failed = [step for step in self.steps if step.state in FAILURES]
        is_beyond = self.limits.tolerate is not None and len(failed) > self.limits.tolerate
        first = min(step.batch for step in self.steps)
        return is_beyond or (self.limits.has_canary and any(step.batch == first for step in failed))

    def choose(self) -> Step | None:
        """The step that is next: those of the open batches in their order, then those whose nodes are back."""
        running = sum(step.is_running and not step.is_parked for step in self.steps)
        if self.is_halted or (self.limits.has_rate and not self.rate):
            return None
        if self.limits.at_once is not None and running >= self.limits.at_once:
            return None
        last = max((step.batch for step in self.steps if self._is_open(step.batch)), default=-1)
        for step in self.steps:
            if step.waits and not step.tries and step.batch <= last:
                return step
        return next((step for step in self.steps if step.waits and step.tries and step.node in self.present), None)

    def _is_open(self, batch: int) -> bool:
        first = min(step.batch for step in self.steps)
        is_canary = self.limits.has_canary
        return all(
            step.is_over or (step.is_parked and not (is_canary and step.batch == first))
            for step in self.steps
            if step.batch < batch
        )

    def start_all(self) -> list[str]:
        """Start what may start, and postpone the steps of nodes that are away."""
        started = []
        while (step := self.choose()) is not None:
            if step.node in self.present:
                step.has_turn = True
                self.rate -= self.limits.has_rate
                started.append(step.node)
            else:
                step.tries += 1
        return started


def start_all(net: JobNet, present: set[str]) -> list[str]:
    """Start in a net what may start, as the driver does: steps of nodes that are away are postponed."""
    started = []
    while (key := net.start_next()) is not None:
        if key.node in present:
            started.append(key.node)
        else:
            net.postpone(key)
    return started


def compute(model: Model) -> JobNet:
    """The net that a server computes which takes the job over."""
    net = JobNet(model.limits, [step.stored() for step in model.steps])
    net.return_nodes(model.present)
    if model.limits.has_rate:
        net.add_rate(model.rate, model.rate)
    return net


class History:
    """A model and a net in memory that follow the same events."""

    def __init__(self, model: Model) -> None:
        self.model, self.net = model, compute(model)
        self.start()

    def start(self) -> None:
        """Start what may start, in the net in memory, in a net that is computed now, and in the model: all three choose alike."""
        STEPS["steps"] += 1
        taken_over = compute(self.model)
        started = start_all(self.net, self.model.present)
        assert start_all(taken_over, self.model.present) == started
        assert self.model.start_all() == started
        for net in (self.net, taken_over):
            assert net.is_halted == self.model.is_halted
            assert {key.node for key in net.running} == {step.node for step in self.model.steps if step.is_running}
            assert net.is_over == (not any(step.is_open for step in self.model.steps))
        self._expect_no_starvation()

    def _expect_no_starvation(self) -> None:
        model = self.model
        can_start = not model.is_halted and (not model.limits.has_rate or model.rate > 0)
        is_waiting = any(step.waits and step.node in model.present for step in model.steps)
        assert not can_start or not is_waiting or any(step.is_running for step in model.steps)

    # Events

    def end(self, step: Step, state: str) -> None:
        step.state = state
        self.net.end(StepKey(1, step.node), state)

    def park(self, step: Step) -> None:
        """The run of a step only waits for values of others."""
        step.is_parked = True
        self.net.park(StepKey(1, step.node))

    def lose_turn(self, step: Step) -> None:
        """The node leaves before it has begun."""
        self.model.present.discard(step.node)
        step.has_turn, step.tries = False, step.tries + 1
        self.model.rate += self.model.limits.has_rate  # the turn was not used
        self.net.postpone(StepKey(1, step.node))

    def leave(self, step: Step) -> None:
        if step.has_turn and step.state == states.QUEUED:
            self.lose_turn(step)
        else:
            self.model.present.discard(step.node)

    def come_back(self, step: Step) -> None:
        self.model.present.add(step.node)
        self.net.return_nodes([step.node])

    def earn(self, count: int) -> None:
        if self.model.limits.has_rate:
            self.model.rate += max(0, min(count, MOST_RATE - self.model.rate))
            self.net.add_rate(count, MOST_RATE)


ends = st.sampled_from([states.COMPLETED, states.COMPLETED, states.FAILED])
unseen_ends = st.sampled_from([states.CANCELLED, states.EXPIRED, states.SKIPPED, states.FAILED])
limits = st.builds(
    NetLimits,
    at_once=st.none() | st.integers(1, 4),
    tolerate=st.none() | st.integers(0, 3),
    has_canary=st.booleans(),
    has_rate=st.booleans(),
)


def draw_model(data: st.DataObject) -> Model:
    count = data.draw(st.integers(1, 9), "nodes")
    sizes = data.draw(st.none() | st.integers(1, 4), "size of a batch")
    steps = [Step(place, f"n{place}", place // (sizes or count)) for place in range(count)]
    away = data.draw(st.sets(st.sampled_from(range(count)), max_size=3), "away")
    return Model(data.draw(limits, "limits"), steps, {step.node for step in steps if step.place not in away})


def follow(data: st.DataObject) -> None:
    """Let random events happen until all steps have ended, or for a while."""
    history = History(draw_model(data))
    events: dict[str, Callable[[Step], None]] = {
        "pick up": lambda step: setattr(step, "state", states.PICKED_UP),
        "end": lambda step: history.end(step, data.draw(ends)),
        "end unseen": lambda step: history.end(step, data.draw(unseen_ends)),
        "park": history.park,
        "leave": history.leave,
        "come back": history.come_back,
    }
    for _ in range(40):
        model = history.model
        open_steps = [step for step in model.steps if step.is_open]
        if not open_steps:
            break
        running = [step for step in open_steps if step.is_running]
        possible: dict[str, list[Step]] = {
            "pick up": [step for step in running if step.state == states.QUEUED and step.node in model.present],
            "end": [step for step in running if step.state == states.PICKED_UP],
            "park": [step for step in running if step.state == states.PICKED_UP and not step.is_parked],
            "end unseen": [step for step in open_steps if step.state == states.QUEUED],
            "leave": [step for step in model.steps if step.node in model.present],
            "come back": [step for step in model.steps if step.node not in model.present],
        }
        what = data.draw(st.sampled_from([*(name for name, steps in possible.items() if steps), "time", "take over"]))
        if what == "time":
            history.earn(data.draw(st.integers(1, 3)))
        elif what == "take over":
            history.net = compute(model)
        else:
            events[what](data.draw(st.sampled_from(possible[what])))
        history.start()
    STEPS["jobs"] += 1


def explore(examples: int) -> None:
    STEPS.clear()
    run = settings(max_examples=examples, deadline=None)(given(st.data())(follow))
    run()
    print(
        f"\nnet of a job: {STEPS['jobs']} jobs, {STEPS['steps']} times the same choice in memory, computed and by the model"
    )


@pytest.mark.timeout(300)
def test_net_in_memory_chooses_like_the_computed_net_and_the_model() -> None:
    explore(400)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_net_in_memory_chooses_like_the_computed_net_and_the_model_for_long() -> None:
    explore(int(os.environ.get("PRECAST_NET_JOBS", "20000")))


def make_net(limits: NetLimits, *batches: int) -> JobNet:
    """The net of steps `a`, `b`, … in these batches."""
    names = "abcdef"[: len(batches)]
    return JobNet(limits, [Step(place, names[place], batch).stored() for place, batch in enumerate(batches)])


def test_step_that_only_waits_for_values_gives_its_slot_and_its_batch_to_the_next() -> None:
    net = make_net(NetLimits(at_once=1), 0, 1, 2)
    assert start_all(net, {"a", "b", "c"}) == ["a"]
    net.park(StepKey(1, "a"))
    assert start_all(net, {"a", "b", "c"}) == ["b"]
    net.end(StepKey(1, "a"), states.COMPLETED)
    assert start_all(net, {"a", "b", "c"}) == []
    net.end(StepKey(1, "b"), states.COMPLETED)
    assert start_all(net, {"a", "b", "c"}) == ["c"]


def test_others_wait_for_a_canary_that_waits() -> None:
    net = make_net(NetLimits(has_canary=True), 0, 1)
    assert start_all(net, {"a", "b"}) == ["a"]
    net.park(StepKey(1, "a"))
    assert start_all(net, {"a", "b"}) == []


def test_batch_does_not_begin_before_the_one_before_has_ended_though_one_between_is_over() -> None:
    net = make_net(NetLimits(), 0, 1, 2)
    assert start_all(net, {"a", "b", "c"}) == ["a"]
    net.end(StepKey(1, "b"), states.FAILED)  # its node was purged
    assert start_all(net, {"a", "b", "c"}) == []
    net.end(StepKey(1, "a"), states.COMPLETED)
    assert start_all(net, {"a", "b", "c"}) == ["c"]


def test_canary_that_fails_late_halts_the_job() -> None:
    net = make_net(NetLimits(has_canary=True), 0, 1, 1)
    assert start_all(net, {"b"}) == ["b"], "the nodes of a and c are away"
    net.return_nodes(["a"])
    assert start_all(net, {"a", "b"}) == ["a"]
    net.end(StepKey(1, "a"), states.FAILED)
    net.return_nodes(["c"])
    assert start_all(net, {"a", "b", "c"}) == []
    assert net.is_halted


def test_steps_of_returned_nodes_start_in_the_order_of_the_steps() -> None:
    net = make_net(NetLimits(at_once=1), 0, 0, 0)
    assert start_all(net, {"c"}) == ["c"]
    net.return_nodes(["b"])
    net.return_nodes(["a"])
    net.end(StepKey(1, "c"), states.COMPLETED)
    assert start_all(net, {"a", "b", "c"}) == ["a"]


def test_rate_that_was_not_used_is_not_saved_up() -> None:
    net = make_net(NetLimits(has_rate=True), 0, 1, 1, 1)
    for _ in range(10):  # the first batch takes its time
        net.add_rate(1, 2)
        start_all(net, {"a"})
    net.end(StepKey(1, "a"), states.COMPLETED)
    assert start_all(net, {"a", "b", "c", "d"}) == ["b", "c"]


def test_canary_that_is_held_keeps_its_batch_and_is_no_longer_waited_for_once_it_has_ended() -> None:
    net = make_net(NetLimits(has_canary=True), 0, 1, 1)
    net.hold(["a", "b"])
    assert start_all(net, {"a", "b", "c"}) == []
    assert not net.has_waiting
    net.end(StepKey(1, "a"), states.CANCELLED)
    net.hold(["b"])
    assert start_all(net, {"b", "c"}) == ["c"]
    net.return_nodes(["b"])
    assert start_all(net, {"b", "c"}) == ["b"]


def test_canary_whose_node_is_away_is_not_waited_for() -> None:
    net = make_net(NetLimits(has_canary=True), 0, 1)
    assert start_all(net, {"b"}) == ["b"]
