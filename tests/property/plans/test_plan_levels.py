"""Levels of random plans: who runs them one by one, with a wait for all nodes between, keeps every order and every limit of the plan."""

from collections import Counter

from hypothesis import assume, given, settings

from precast.plans.model import SYNC_NODE
from precast.plans.views.levels import find_levels
from tests.property.plans.instance_waits import walk
from tests.property.plans.run_plans import expand_or_none, random_plan, seeds


@settings(max_examples=300, deadline=None)
@given(seeds)
def test_levels_keep_the_order_over_nodes_and_the_limits(seed: int) -> None:
    plan, nodes = random_plan(seed)
    expansion = expand_or_none(plan, nodes)
    assume(expansion is not None)
    assert expansion is not None
    ids = [task.id for task in plan.tasks]
    keys = [(ids[instance.key.task - 1], instance.key.node) for instance in expansion.instances]
    levels = dict(zip(keys, find_levels(expansion), strict=True))
    places = {key: place for place, key in enumerate(keys)}
    for key, others in walk(expansion).items():
        for other in others:
            is_later = levels[other] < levels[key] or (levels[other] == levels[key] and places[other] < places[key])
            assert is_later
            if SYNC_NODE not in (key[1], other[1]) and key[1] != other[1]:
                assert levels[other] < levels[key]
    at_work = Counter((task, level) for (task, node), level in levels.items() if node != SYNC_NODE)
    for (task, _), count in at_work.items():
        limit = expansion.at_once.get(ids.index(task) + 1)
        assert limit is None or count <= limit
