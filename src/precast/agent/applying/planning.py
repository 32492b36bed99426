"""From a catalog to a plan: every resource with its handler, or with why it has none, and the graph they stand in.

A resource that cannot be planned fails alone, in its turn. One with values that are not known yet gets its handler then.
"""

from collections.abc import Callable, Mapping
from typing import Any

from precast.agent.applying import issues, schedules, values
from precast.agent.applying.machine import Machine
from precast.agent.applying.schedules import Schedule
from precast.base.errors import PrecastError
from precast.catalog import issues as catalog_issues
from precast.catalog.body import Body, ResourceData
from precast.catalog.order import Order
from precast.catalog.source_map import SourceMap
from precast.resources import issues as resource_issues
from precast.resources import registry
from precast.resources.contract import Handler, Wanted
from precast.types.catalogue import METAPARAMETERS
from precast.types.ordering import NO_TYPES, Types, graph, is_container


class Planned:
    """One resource that is to be applied."""

    __slots__ = ("data", "handler", "is_late", "problem", "ref", "said", "schedule", "wanted")

    def __init__(self, data: ResourceData, wanted: Wanted, is_late: bool) -> None:
        self.data = data
        self.ref = data.ref
        self.wanted = wanted
        self.is_late = is_late  # some value is not known yet
        self.handler: Handler | None = None
        self.problem: PrecastError | None = None
        self.schedule: Schedule | None = None
        self.said: list[tuple[str, str]] = []

    def make(self, machine: Machine) -> None:
        """Make the handler, or keep why there is none."""
        kind = registry.find(self.wanted.type)
        try:
            if kind is None:
                raise resource_issues.NO_TYPE.error(type=self.wanted.type, types=", ".join(registry.names()))
            self.handler = kind(self.wanted, machine)
            self.said = self.handler.said()
        except PrecastError as error:
            self.problem = error


class Plan:
    """A catalog, ready to be run."""

    def __init__(self, graph: Order, sequence: list[str], resources: dict[str, Planned]) -> None:
        self.graph = graph
        self.sequence = sequence  # as a sequential run applies them
        self.resources = resources


def make_plan(body: Body, places: SourceMap | None, machine: Machine, types: Types = NO_TYPES) -> Plan:
    """Plan a catalog. What is wrong with a resource stays with it.

    Raises InputError CATALOG-001 and CATALOG-002 for a graph that cannot be applied.
    """
    order = graph(body, types)
    sequence, cycle = order.resources()
    if cycle:
        raise catalog_issues.CYCLE.error(cycle=" => ".join([*cycle, cycle[0]]))
    planned = {
        each.ref: _planned(each, places) for each in body.resources if not is_container(each) and not each.exported
    }
    machine.tell(
        (each.wanted for each in planned.values() if not each.is_late),
        body.content,
        (each.wanted for each in planned.values() if each.is_late),
    )
    find_schedule = _schedules(planned)
    for each in planned.values():
        each.schedule, each.problem = _scheduled(each, find_schedule)
        if not each.is_late and each.problem is None:
            each.make(machine)
    return Plan(order, [ref for ref in sequence if ref in planned], planned)


def _planned(data: ResourceData, places: SourceMap | None) -> Planned:
    is_late = any(values.is_unknown(value) for value in data.parameters.values())
    place = places.places.get(data.ref) if places is not None else None
    # What is known of it is known from the start: the name above all, which others leave alone.
    known = {k: v for k, v in data.parameters.items() if not values.is_unknown(v)} if is_late else data.parameters
    return Planned(data, wanted_of(data, known, (place.file, place.line) if place else None), is_late)


def wanted_of(data: ResourceData, parameters: Mapping[str, Any], place: tuple[str, int] | None = None) -> Wanted:
    """A resource as its handler gets it."""
    own: dict[str, Any] = {}
    meta: dict[str, Any] = {}
    secrets = set(data.sensitive_parameters)
    for name, value in parameters.items():
        if value is None:
            continue
        if name in METAPARAMETERS:
            meta[name] = value
        elif isinstance(value, str):
            own[name] = value
        else:
            own[name] = values.plain(value)
            if values.is_secret(value):
                secrets.add(name)
    file, line = place or (None, None)
    return Wanted(data.type.lower(), data.title, own, frozenset(secrets), meta, data.tags, file, line)


def _schedules(planned: Mapping[str, Planned]) -> Callable[[str], Schedule | None]:
    """How a schedule is found by name. One that cannot be used fails those who name it."""

    def find(name: str) -> Schedule | None:
        declared = planned.get(f"Schedule[{name}]")
        if declared is not None:
            return schedules.read(name, declared.wanted.parameters)
        return schedules.BUILT_IN.get(name)

    return find


def _scheduled(planned: Planned, find: Callable[[str], Schedule | None]) -> tuple[Schedule | None, PrecastError | None]:
    name = planned.data.parameters.get("schedule")
    if name is None:
        return None, None
    try:
        found = find(str(name))
        if found is None:
            raise issues.NO_SCHEDULE.error(ref=planned.ref, schedule=name)
    except PrecastError as error:
        return None, error
    return found, None
