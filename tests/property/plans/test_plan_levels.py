"""Levels of random plans: who runs them one by one, with a wait for all nodes between, keeps every order and every limit of the plan."""

from collections import Counter

from hypothesis import given, settings

from precast.base.errors import PrecastError
from precast.plans.expansion import expand
from precast.plans.model import SYNC_NODE, Plan
from precast.plans.views.levels import find_levels
from tests.property.plans.random_plans import NODES, plans, walk


@settings(max_examples=300, deadline=None)
@given(plans())
def test_levels_keep_the_order_over_nodes_and_the_limits(plan: Plan) -> None:
    try:
        expansion = expand(plan, NODES)
    except PrecastError:  # a cycle
        return
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
