"""Builds the net of a catalog, for the agent that runs it and for the check that looks for deadlocks.

Each resource is a step that needs the resources it waits for; a container is two automatic steps, its begin and its end, which needs all it
contains. So a failure skips the resources that wait for it, also through containers, by the structure of the net. Work that a provider
cannot do twice at once takes a lock: a place whose token is held while the step runs.

A resource that needs values of other nodes has a step of its own for that, which needs what the resource needs and holds nothing; the
resource needs it, too. It comes before other steps, so that its deadline counts from the moment at which only the values are missing.
"""

from collections.abc import Callable, Collection, Iterable

from precast.catalog.order import Order, OrderPoint
from precast.net.model.builder import Builder
from precast.net.model.declarations import Transition
from precast.net.model.structure import Net

_WORDS = {"do": "", "start": " begins", "end": " ends"}


def step_name(point: OrderPoint) -> str:
    """The name of the step for a point of the order."""
    return point[1] + _WORDS[point[0]]


def wait_name(ref: str) -> str:
    """The name of the step in which a resource waits for values."""
    return f"wait {ref}"


def build_catalog_net(
    order: Order, locks: Callable[[str], Iterable[str]], name: str = "catalog", waits: Collection[str] = ()
) -> Net:
    """The net of a catalog; its transitions are the points of the order, in their order. `locks` gives the locks of a resource.

    After them come the waits of the resources in `waits`, in that order.
    """
    builder = Builder(name)
    needs = order.needs()
    names = {point: step_name(point) for point in needs}
    known: set[str] = set()
    for point, before in needs.items():
        is_auto = point[0] != "do"
        held = () if is_auto else tuple(locks(point[1]))
        for lock in held:
            if lock not in known:
                known.add(lock)
                builder.limit(lock)
        needed = tuple([names[earlier] for earlier in before])
        if is_auto:
            builder.add_transition(Transition(names[point], is_step=True, needs=needed, is_auto=True))
        elif waits and point[1] in waits:
            builder.step(names[point], (*needed, wait_name(point[1])), held)
        else:
            builder.step(names[point], needed, held)
    for ref in waits:
        needed = tuple(names[earlier] for earlier in needs["do", ref])
        builder.add_transition(Transition(wait_name(ref), is_step=True, needs=needed, priority=1))
    return builder.build()
