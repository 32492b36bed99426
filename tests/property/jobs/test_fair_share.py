"""Fair shares against a model: no slot is lost, none is given twice, and no job with work starves."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from precast.services.jobs.flow.fair_share import RESERVED_PART, FairShare

ENVIRONMENTS = ("production", "staging", "lab")
JOBS = [f"j{number}" for number in range(8)]
jobs = st.sampled_from(JOBS)
steps = st.lists(
    st.tuples(st.just("offer"), jobs, st.integers(0, 40))
    | st.tuples(st.just("adopt"), jobs, st.integers(0, 10))
    | st.tuples(st.just("done"), jobs, st.integers(0, 40))
    | st.tuples(st.just("forget"), jobs, st.just(0))
    | st.tuples(st.just("take"), st.just(""), st.integers(0, 60)),
    max_size=80,
)


def environment_of(job: str) -> str:
    return ENVIRONMENTS[JOBS.index(job) % len(ENVIRONMENTS)]


class Model:
    """A share, and beside it what each job offers and has in flight."""

    def __init__(self) -> None:
        self.share = FairShare()
        self.offered: Counter[str] = Counter()
        self.in_flight: Counter[str] = Counter()

    def do(self, what: str, job: str, count: int) -> None:
        match what:
            case "offer":
                self.share.offer(environment_of(job), job, count)
                self.offered[job] = count
            case "adopt":
                self.share.adopt(environment_of(job), job, count)
                self.in_flight[job] += count
            case "done":
                self.share.done(job, count)
                self.in_flight[job] = max(0, self.in_flight[job] - count)
            case "forget":
                self.share.forget(job)
                self.offered[job] = self.in_flight[job] = 0
            case _:
                self.take(count)

    def take(self, free: int) -> None:
        """Take slots, and check that none is lost: what is left is the reserve, for which no job waits."""
        taken = self.share.take(free)
        assert len({job for job, _ in taken}) == len(taken)
        for job, count in taken:
            assert 0 < count <= self.offered[job]
            self.offered[job] -= count
            self.in_flight[job] += count
        left = free - sum(count for _, count in taken)
        assert left >= 0
        if left:
            assert not any(self.offered[job] and not self.in_flight[job] for job in JOBS)
            limit = self.in_flight.total() + left
            assert left <= -(-limit // RESERVED_PART) or not self.offered.total()


@given(steps)
@settings(max_examples=300, deadline=None)
def test_every_slot_is_given_out_once_whatever_happens(done: list[tuple[str, str, int]]) -> None:
    model = Model()
    for step in done:
        model.do(*step)
        assert model.share.in_flight == model.in_flight.total()


@given(steps, jobs, st.data())
@settings(max_examples=300, deadline=None)
def test_job_with_work_and_nothing_in_flight_begins_within_one_turn_for_each_job(
    before: list[tuple[str, str, int]], starving: str, data: st.DataObject
) -> None:
    """Others may end and offer as they like: they pass a waiting job at most once each in the reserve."""
    model = Model()
    for step in before:
        model.do(*step)
    model.do("done", starving, 1_000)
    model.do("offer", starving, 1)
    others = st.sampled_from([job for job in JOBS if job != starving])
    for _ in JOBS:
        for _ in range(data.draw(st.integers(0, 3))):
            other = data.draw(others)
            model.do(data.draw(st.sampled_from(["offer", "done"])), other, 20)
        model.take(1)
        if model.in_flight[starving]:
            return
    raise AssertionError(f"{starving} has not begun")


@given(st.integers(1, 400), st.lists(st.integers(1, 3), min_size=1, max_size=6))
def test_environments_with_enough_work_differ_by_the_reserve_at_most(free: int, sizes: list[int]) -> None:
    share, owner = FairShare(), dict[str, int]()
    for environment, size in enumerate(sizes):
        for number in range(size):
            job = f"{environment}-{number}"
            owner[job] = environment
            share.offer(str(environment), job, 1_000)
    in_flight = Counter(dict.fromkeys(range(len(sizes)), 0))
    for job, count in share.take(free):
        in_flight[owner[job]] += count
    assert max(in_flight.values()) - min(in_flight.values()) <= 1 + -(-free // RESERVED_PART)
