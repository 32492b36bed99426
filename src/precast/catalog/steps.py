"""From a catalog to its net: one function, for the agent that runs it and for the check that looks for deadlock.

Each resource is a step that needs those it waits for; a container is two automatic steps, its begin and its end, which needs all it
contains. So a failure skips what waits for it, also through containers, by the structure of the net. What a provider cannot do twice
at once is a lock: a place whose token is held while the step runs.
"""

from collections.abc import Callable, Iterable

from precast.catalog.order import Moment, Order
from precast.net.model.builder import Builder
from precast.net.model.declarations import Transition
from precast.net.model.structure import Net

_WORDS = {"do": "", "start": " begins", "end": " ends"}


def step_name(moment: Moment) -> str:
    """What the net calls a moment."""
    return moment[1] + _WORDS[moment[0]]


def net_of(order: Order, locks: Callable[[str], Iterable[str]], name: str = "catalog") -> Net:
    """The net of a catalog's graph; its transitions are the graph's moments, in their order. `locks` says what a resource holds."""
    builder = Builder(name)
    needs = order.needs()
    names = {moment: step_name(moment) for moment in needs}
    known: set[str] = set()
    for moment, before in needs.items():
        is_auto = moment[0] != "do"
        held = () if is_auto else tuple(locks(moment[1]))
        for lock in held:
            if lock not in known:
                known.add(lock)
                builder.limit(lock)
        needed = tuple([names[each] for each in before])
        if is_auto:
            builder.add_transition(Transition(names[moment], is_step=True, needs=needed, is_auto=True))
        else:
            builder.step(names[moment], needed, held)
    return builder.build()
