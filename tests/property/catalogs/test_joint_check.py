"""The check of random jobs agrees with a simple model of their nodes: it refuses exactly those in which nodes wait for each other for ever.

The model has no net. It goes through the resources again and again and ends those that can end, for every choice of resources that fail.
"""

import itertools
from collections import Counter
from collections.abc import Collection, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from precast.catalog.body import Body, ResourceData
from precast.catalog.futures import list_needs, list_promises
from precast.catalog.joint_check import check_joint
from precast.catalog.joint_net import JointPart
from precast.types.ordering import graph

KEYS = ("k", "l", "m")
RESOURCES = 7

# A resource of the model: those before it, the key that it promises, and the keys that it needs with how many values.
Model = dict[tuple[str, str], tuple[list[tuple[str, str]], str | None, list[tuple[str, bool, int | None]]]]


def random_job(seed: int) -> Model:
    random = Random(seed)
    job: Model = {}
    for node in ("n1", "n2", "n3")[: random.randint(1, 3)]:
        names: list[str] = []
        for _ in range(random.randint(1, 3)):
            if len(job) == RESOURCES:
                break
            promised = random.choice(KEYS) if random.random() < 0.6 else None
            if promised is not None and (node, f"Promise[{promised}]") in job:
                promised = None
            name = f"Notify[{len(job)}]" if promised is None else f"Promise[{promised}]"
            needs = []
            for key in random.sample(KEYS, random.choice((0, 0, 1, 1, 2))):
                many = random.random() < 0.6
                needs.append((key, many, random.choice((None, 1, 1, 2)) if many else None))
            before = random.sample(names, min(len(names), random.choice((0, 1, 1, 2))))
            job[node, name] = [(node, each) for each in before], promised, needs
            names.append(name)
    return job


def make_parts(job: Model) -> list[JointPart]:
    parts = []
    for node in dict.fromkeys(node for node, _ in job):
        resources = []
        for (owner, ref), (before, promised, needs) in job.items():
            if owner != node:
                continue
            parameters: dict[str, Any] = {"require": [name for _, name in before]} if before else {}
            values = [_future(key, many, at_least) for key, many, at_least in needs]
            parameters["value" if promised else "message"] = values
            type_name, _, title = ref.partition("[")
            resources.append(ResourceData(type_name, title[:-1], parameters, ()))
        body = Body(tuple(resources), (), (), (), {})
        parts.append(JointPart(node, graph(body), list_promises(body), list_needs(body)))
    return parts


def _future(key: str, many: bool, at_least: int | None) -> dict[str, Any]:
    if not many:
        return {"__ptype": "Precast::Future", "__pvalue": key}
    return {"__ptype": "Precast::Futures", "__pvalue": key if at_least is None else {"key": key, "at_least": at_least}}


def ends(job: Model, failing: Collection[tuple[str, str]], standing: Collection[str]) -> bool:
    """Whether every resource ends, applied or not, if these fail when they are applied."""
    promising = Counter(promised for _, promised, _ in job.values() if promised)
    ended: dict[tuple[str, str], bool] = {}
    is_moving = True
    while is_moving:
        is_moving = False
        for name, (before, _, needs) in job.items():
            if name in ended:
                continue
            if any(ended.get(each) is False for each in before):
                ended[name], is_moving = False, True
                continue
            have = Counter(job[each][1] for each in ended)
            enough = all(
                have[key] >= (1 if not many else promising[key] if at_least is None else at_least)
                for key, many, at_least in needs
                if promising[key] or key not in standing
            )
            if enough and all(each in ended for each in before):
                ended[name], is_moving = name not in failing, True
    return len(ended) == len(job)


def is_valid(job: Model, standing: Collection[str]) -> bool:
    """Whether each need by itself can be met."""
    promising = Counter(promised for _, promised, _ in job.values() if promised)
    return all(
        (promising[key] == 1 if not many else promising[key] >= (at_least or 1))
        or (not promising[key] and key in standing)
        for _, _, needs in job.values()
        for key, many, at_least in needs
    )


def compare(seed: int, counts: Counter[str]) -> None:
    job = random_job(seed)
    standing = KEYS[: seed % 3]
    report = check_joint(make_parts(job), standing)
    subsets: Sequence[tuple[tuple[str, str], ...]] = [
        chosen for size in range(len(job) + 1) for chosen in itertools.combinations(job, size)
    ]
    if not is_valid(job, standing):
        counts["invalid"] += 1
        assert not report.is_sound
        return
    is_sound = all(ends(job, failing, standing) for failing in subsets)
    counts["sound" if is_sound else "stuck"] += 1
    counts["with waits"] += bool(report.waits)
    counts["transitions"] += report.transitions
    assert report.is_sound == is_sound, report.problems


def run_rounds(rounds: int) -> Counter[str]:
    counts: Counter[str] = Counter()

    @settings(max_examples=rounds, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**48))
    def run(seed: int) -> None:
        compare(seed, counts)

    run()
    print(f"\njoint check against brute force: {dict(counts)}; sound ones refused: 0, not proven: 0")
    return counts


def test_random_job_is_refused_exactly_when_its_nodes_wait_for_ever() -> None:
    counts = run_rounds(600)
    assert counts["sound"] > 30
    assert counts["stuck"] > 30


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_many_random_jobs_are_refused_exactly_when_their_nodes_wait_for_ever() -> None:
    counts = run_rounds(30_000)
    assert counts["sound"] > 1_000
    assert counts["stuck"] > 1_000
