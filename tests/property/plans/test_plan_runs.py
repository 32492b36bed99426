"""Every run of a random plan agrees, step by step, with a simple model of what may begin and what follows from failures."""

from collections import Counter
from random import Random

from hypothesis import given, settings

from precast.plans.execution import PlanExecution
from precast.plans.model import Expansion, InstanceKey
from precast.plans.plan_net import PlanLimits
from precast.plans.users import Status
from tests.property.plans.run_model import RunModel
from tests.property.plans.run_plans import choose_skipped, expand_or_none, random_plan, seeds

ROUNDS = 400


class Driver:
    """Does the same to a run and to its model, and compares them."""

    def __init__(self, expansion: Expansion, random: Random, counts: Counter[str]) -> None:
        self.expansion, self.random, self.counts = expansion, random, counts
        self.skipped = choose_skipped(expansion, random)
        self.at_once = random.choice((None, None, 1, 2))
        self.model = RunModel(expansion, self.skipped, self.at_once, is_going=random.random() < 0.95)
        self.nodes = [node.name for node in expansion.nodes]
        self.execution = self.restore()

    def restore(self) -> PlanExecution:
        model = self.model
        return PlanExecution(
            self.expansion,
            dict(model.statuses),
            PlanLimits(self.at_once),
            model.approved,
            is_going=model.is_going,
            skipped=self.skipped,
        )

    def step(self) -> None:
        often = [self.start, self.start, self.start, self.end, self.end]
        seldom = [self.end_unstarted, self.postpone, self.hold, self.come_back, self.approve]
        self.random.choice([*often, *seldom, self.take_over, self.fail_and_take_over])()
        self.compare()

    def start(self) -> None:
        key = self.execution.start_next()
        expected = self.model.startable()
        assert key == (expected[0] if expected else None)
        if key is not None:
            self.counts["started"] += 1
            self.model.note(key, Status.RUNNING)
            if key in self.skipped:
                self.execution.end(key, Status.DONE)
                self.model.note(key, Status.DONE)

    def end(self) -> None:
        self._end(self.model.list_keys(Status.RUNNING), (Status.DONE, Status.DONE, Status.FAILED, Status.DROPPED))

    def end_unstarted(self) -> None:
        if self.random.random() < 0.3:
            waiting = self.model.list_keys(Status.WAITING, Status.AWAY)
            self._end(waiting, (Status.DONE, Status.FAILED, Status.DROPPED))

    def _end(self, keys: list[InstanceKey], statuses: tuple[Status, ...]) -> None:
        if keys:
            key, status = self.random.choice(keys), self.random.choice(statuses)
            self.execution.end(key, status)
            self.execution.end(key, self.random.choice(statuses))  # what is known changes nothing
            self.model.note(key, status)
            self.counts[status.value] += 1

    def postpone(self) -> None:
        running = self.model.at_work()
        if running:
            key = self.random.choice(running)
            self.execution.postpone(key)
            self.model.note(key, Status.AWAY)

    def hold(self) -> None:
        nodes = self.random.sample(self.nodes, self.random.randint(0, len(self.nodes)))
        self.execution.hold(nodes)
        self.model.hold(nodes)

    def come_back(self) -> None:
        nodes = self.random.sample(self.nodes, self.random.randint(0, len(self.nodes)))
        assert self.execution.return_nodes(nodes) == self.model.return_nodes(nodes)

    def approve(self) -> None:
        gated = [number for number, task in enumerate(self.expansion.plan.tasks, 1) if task.approval]
        if gated:
            task = self.random.choice(gated)
            self.execution.approve(task)
            self.model.approved.add(task)

    def take_over(self) -> None:
        self.execution = self.restore()
        self.counts["taken over"] += 1

    def fail_and_take_over(self) -> None:
        """The server that stored a failure is gone before it has stored what follows."""
        running = self.model.list_keys(Status.RUNNING)
        if running:
            key = self.random.choice(running)
            self.model.statuses[key] = Status.FAILED
            self.take_over()
            self.model.note(key, Status.FAILED)

    def compare(self) -> None:
        execution, model = self.execution, self.model
        unreachable = drain(execution)
        assert unreachable == model.dropped
        model.dropped = set()
        self.counts["dropped behind others"] += len(unreachable)
        assert execution.running == model.list_keys(Status.RUNNING)
        assert execution.away == model.list_keys(Status.AWAY)
        waiting = model.list_keys(Status.WAITING)
        assert execution.has_waiting == bool(waiting)
        assert execution.waiting_nodes == {key.node for key in waiting}
        assert execution.is_over == (not waiting and not execution.running and not execution.away)
        assert execution.is_halted == model.is_halted
        working = model.at_work()
        assert len({key.node for key in working}) == len(working)
        assert self.at_once is None or len(working) <= self.at_once
        by_task = Counter(key.task for key in working)
        assert all(count <= self.expansion.at_once.get(task, count) for task, count in by_task.items())


def drain(execution: PlanExecution) -> set[InstanceKey]:
    found: list[InstanceKey] = []
    while unreachable := execution.take_unreachable():
        found += [key for key, _ in unreachable]
    assert len(found) == len(set(found)), "each is found once"
    return set(found)


def test_run_of_a_random_plan_agrees_with_its_model() -> None:
    counts: Counter[str] = Counter()

    @settings(max_examples=ROUNDS)
    @given(seeds)
    def run(seed: int) -> None:
        expansion = expand_or_none(*random_plan(seed))
        if expansion is not None:
            driver = Driver(expansion, Random(seed), counts)
            for _ in range(60):
                driver.step()

    run()
    print(f"\nruns of plans: {ROUNDS} random plans, {dict(counts)}")
    assert counts["started"] > ROUNDS
    assert counts["dropped behind others"] > ROUNDS
    assert counts["taken over"] > ROUNDS


class SteadyDriver:
    """Starts all that may begin, then ends the first that runs as was decided before, and notes every start."""

    def __init__(self, expansion: Expansion, seed: int, at_once: int | None, failing: float) -> None:
        random = Random(seed)
        self.expansion, self.at_once = expansion, at_once
        self.skipped = choose_skipped(expansion, random)
        self.outcomes = {
            instance.key: Status.FAILED if random.random() < failing else Status.DONE
            for instance in expansion.instances
        }
        self.statuses: dict[InstanceKey, Status] = {}
        self.starts: list[InstanceKey] = []
        self.execution = self.open()

    def open(self) -> PlanExecution:
        """The run as a server computes it that takes it over, or that resumes it. All tasks have been approved."""
        approved = range(1, len(self.expansion.plan.tasks) + 1)
        limits = PlanLimits(self.at_once)
        return PlanExecution(self.expansion, dict(self.statuses), limits, approved, skipped=self.skipped)

    def go_on(self, steps: int | None = None, *, may_start: bool = True) -> int:
        """Run to the end, or so many steps: starts and ends; returns how many there were."""
        count = 0
        while steps is None or count < steps:
            key = self.execution.start_next() if may_start else None
            if key is not None:
                self._note(key, Status.RUNNING)
                self.starts.append(key)
                if key in self.skipped:
                    self._end(key, Status.DONE)
            elif self.execution.running:
                self._end(self.execution.running[0], self.outcomes[self.execution.running[0]])
            else:
                break
            count += 1
        return count

    def _end(self, key: InstanceKey, status: Status) -> None:
        self.execution.end(key, status)
        self._note(key, status)
        for dropped in drain(self.execution):
            self._note(dropped, Status.DROPPED)

    def _note(self, key: InstanceKey, status: Status) -> None:
        self.statuses[key] = status


@settings(max_examples=60)
@given(seeds)
def test_takeover_at_every_point_of_a_run_changes_neither_order_nor_results(seed: int) -> None:
    expansion = expand_or_none(*random_plan(seed, most=5))
    if expansion is None:
        return
    undisturbed = SteadyDriver(expansion, seed, Random(seed).choice((None, 1, 2)), 0.15)
    for point in range(undisturbed.go_on()):
        other = SteadyDriver(expansion, seed, undisturbed.at_once, 0.15)
        other.go_on(point)
        other.execution = other.open()
        other.go_on()
        assert (other.starts, other.statuses) == (undisturbed.starts, undisturbed.statuses)


@settings(max_examples=60)
@given(seeds)
def test_stop_and_resume_at_every_point_gives_the_undisturbed_results(seed: int) -> None:
    """What runs at the stop ends before the resume. One at a time, the order is the same too, whatever fails."""
    expansion = expand_or_none(*random_plan(seed, most=5))
    if expansion is None:
        return
    for at_once, failing in ((1, 0.15), (2, 0.0), (None, 0.0)):
        undisturbed = SteadyDriver(expansion, seed, at_once, failing)
        for point in range(undisturbed.go_on()):
            other = SteadyDriver(expansion, seed, at_once, failing)
            other.go_on(point)
            other.go_on(may_start=False)
            other.execution = other.open()
            other.go_on()
            assert other.statuses == undisturbed.statuses
            assert at_once != 1 or other.starts == undisturbed.starts
