"""Builds one net of all catalogs that a job applies: who waits for whom across its nodes.

Each catalog adds the points of its order: relationships, automatic ones, containment and stages. Manifest order is not part of it, because
a resource that waits leaves it. A resource that needs values waits in a step of its own before it, as on the node. For each key there is
a place that the end of each of its promises fills, whatever the outcome: a promise that fails ends the waits for it, too. A wait reads
as many tokens as it needs values. So places are only filled and read, and the check of such a net needs no search. The locks of providers
are left out: they are held only while something is applied.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from precast.catalog.catalog_net import step_name
from precast.catalog.futures import FutureNeed, FuturePromise, Need
from precast.catalog.order import Order, OrderPoint
from precast.catalog.source_map import SourceMap
from precast.net.model.builder import Builder
from precast.net.model.compiler import collector_paused
from precast.net.model.declarations import Arcs, Transition
from precast.net.model.structure import Net


class JointPart(NamedTuple):
    """A catalog that a node applies in a job, or a part of one. Parts that begin after others name them."""

    name: str  # unlike those of all others: the node, or the task and the node
    order: Order
    promises: Sequence[FuturePromise]
    needs: Sequence[FutureNeed]
    places: SourceMap | None = None
    after: Sequence[str] = ()


class JointNet(NamedTuple):
    """The net, and what its transitions stand for: the part and the point of the order, by transition."""

    net: Net
    points: list[tuple[int, OrderPoint]]
    waits: dict[int, tuple[int, str]]  # by transition that waits: the part and the resource


class _SharedOrder(NamedTuple):
    """An order as the parts that share it use it: the names of its points, and what each point needs, by index."""

    points: list[OrderPoint]
    names: list[str]
    needs: list[list[int]]

    @staticmethod
    def of(order: Order) -> "_SharedOrder":
        needs = order.needs()
        index = {point: at for at, point in enumerate(needs)}
        points = list(needs)
        return _SharedOrder(
            points, [step_name(point) for point in points], [[index[need] for need in needs[point]] for point in points]
        )


def build_joint_net(parts: Sequence[JointPart], counts: Mapping[Need, int]) -> JointNet:
    """The net of all parts. `counts` says how many values of its key are enough for a need; a need without a count does not wait."""
    with collector_paused():
        return _JointNetBuilder(parts, counts).build()


class _JointNetBuilder:
    def __init__(self, parts: Sequence[JointPart], counts: Mapping[Need, int]) -> None:
        self._parts, self._counts = parts, counts
        self._builder = Builder("job")
        self._orders: dict[int, _SharedOrder] = {}
        self._keys = {need.key for need, count in counts.items() if count}
        self._followed = {name for part in parts for name in part.after}
        self._points: list[tuple[int, OrderPoint]] = []
        self._waits: dict[int, tuple[int, str]] = {}

    def build(self) -> JointNet:
        for key in sorted(self._keys):
            self._builder.place(value_place(key))
        for number, part in enumerate(self._parts):
            self._add_part(number, part)
        return JointNet(self._builder.build(), self._points, self._waits)

    def _add_part(self, number: int, part: JointPart) -> None:
        shared = self._orders.get(id(part.order))
        if shared is None:
            shared = self._orders[id(part.order)] = _SharedOrder.of(part.order)
        names = [f"{part.name}: {name}" for name in shared.names]
        first: tuple[str, ...] = ()
        if part.after:
            first = (_begin(part.name),)
            self._add(number, ("start", part.name), _begin(part.name), tuple(map(_end, part.after)))
        gives = self._list_gives(part)
        reads = self._list_reads(part)
        for point, name, needs in zip(shared.points, names, shared.needs, strict=True):
            needed = tuple([names[need] for need in needs]) or first
            ref = point[1]
            if point[0] == "do" and ref in reads:
                wait = f"{part.name}: wait {ref}"
                self._waits[len(self._points)] = number, ref
                self._add(number, point, wait, needed, reads=reads[ref])
                needed = (wait,)
            self._add(number, point, name, needed, gives=gives.get(ref, ()) if point[0] == "do" else ())
        if part.name in self._followed:
            self._add(number, ("end", part.name), _end(part.name), tuple(names) or first)

    def _list_gives(self, part: JointPart) -> dict[str, Arcs]:
        return {promise.ref: ((value_place(promise.key), 1),) for promise in part.promises if promise.key in self._keys}

    def _list_reads(self, part: JointPart) -> dict[str, Arcs]:
        reads: dict[str, dict[str, int]] = {}
        for needed in part.needs:
            if count := self._counts.get(needed.need, 0):
                wanted, place = reads.setdefault(needed.ref, {}), value_place(needed.need.key)
                wanted[place] = max(count, wanted.get(place, 0))
        return {ref: tuple(wanted.items()) for ref, wanted in reads.items()}

    def _add(
        self, part: int, point: OrderPoint, name: str, needs: tuple[str, ...], reads: Arcs = (), gives: Arcs = ()
    ) -> None:
        self._builder.add_transition(
            Transition(name, True, needs, (), reads, (), gives, gives or None, gives or None, is_auto=point[0] != "do")
        )
        self._points.append((part, point))


def value_place(key: str) -> str:
    """The name of the place that has a token for each promise of a key that has ended."""
    return f"value {key}"


def _begin(part: str) -> str:
    return f"{part} begins"


def _end(part: str) -> str:
    return f"{part} ends"
