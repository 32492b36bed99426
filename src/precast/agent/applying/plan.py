"""Makes a plan from a catalog: every resource with its handler, or with the reason why it has none, and the graph of the resources.

A resource that cannot be planned fails alone, when it would be applied. A resource with values that are not known yet gets its handler
when they are bound.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from precast.agent.applying import catalog_values as values
from precast.agent.applying import issues, schedules
from precast.agent.applying.machine import Machine
from precast.agent.applying.schedules import Schedule
from precast.base.errors import PrecastError
from precast.catalog.body import Body, ResourceData
from precast.catalog.futures import list_promises
from precast.catalog.order import Order
from precast.catalog.sensitive import is_sensitive, secret_texts
from precast.catalog.source_map import SourceMap
from precast.resources import issues_modules
from precast.resources.contract import DesiredResource, Handler
from precast.types import config_files
from precast.types.application import find_foreign
from precast.types.catalog_check import explain_cycle
from precast.types.catalogue import METAPARAMETERS
from precast.types.ordering import NO_TYPES, NamedRelation, Types, follow_named, graph, is_container, resolver


class PlannedResource:
    """One resource that is to be applied."""

    __slots__ = ("bound", "data", "handler", "has_unknown_values", "messages", "problem", "ref", "resource", "schedule")

    def __init__(self, data: ResourceData, resource: DesiredResource, has_unknown_values: bool) -> None:
        self.data = data
        self.ref = data.ref
        self.resource = resource
        self.has_unknown_values = has_unknown_values
        self.bound: ResourceData | None = None  # the data with all values known, if some had to be bound
        self.handler: Handler | None = None
        self.problem: PrecastError | None = None
        self.schedule: Schedule | None = None
        self.messages: list[tuple[str, str]] = []  # that the handler logged when it was made

    def secret_texts(self) -> set[str]:
        """Every text that is secret in this resource, also those that were bound late."""
        return {*secret_texts(self.data), *(() if self.bound is None else secret_texts(self.bound))}

    def make_handler(self, machine: Machine) -> None:
        """Make the handler, or store the error as the problem of the resource."""
        name = self.resource.type
        kind = None if name in machine.bridged_types else machine.find_handler(name)
        try:
            foreign = find_foreign(name, self.resource.parameters)
            self.handler = _bridge(self.resource, machine) if kind is None or foreign else kind(self.resource, machine)
            self.messages = self.handler.take_logs()
            if foreign:
                self.messages.append(("info", f"The module's own code applies it, not Precast's {name}: {foreign}"))
        except PrecastError as error:
            self.problem = error


class Plan:
    """A catalog, ready to be run."""

    def __init__(
        self,
        graph: Order,
        sequence: list[str],
        resources: dict[str, PlannedResource],
        secrets: frozenset[str] = frozenset(),
        left_out: Mapping[str, str] | None = None,
    ) -> None:
        self.graph = graph
        self.sequence = sequence  # as a sequential run applies them
        self.resources = resources
        self.secrets = secrets  # the texts that are secret anywhere in the catalog, also in classes and defines
        # The keys that only the rest of the catalog promises, and why they are not fulfilled.
        self.left_out = left_out or {}


def make_plan(
    body: Body, places: SourceMap | None, machine: Machine, types: Types = NO_TYPES, known: Body | None = None
) -> Plan:
    """Plan a catalog. An error of a single resource is stored as the problem of that resource.

    If it is a part of the catalog `known`, handlers see the other resources of that one, too: a file that is made of fragments needs all of
    them, and a directory that is purged keeps what others manage. Raises InputError CATALOG-001 and CATALOG-002 for a graph that cannot be
    applied.
    """
    known_types = config_files.of_data(body.types)
    machine.declare_types(known_types)
    types = {**config_files.declarations(known_types), **types}
    order = graph(body, types)
    resources = {data.ref: _plan_resource(data, places) for data in body.resources if _is_applied(data)}
    declared = resources
    if known is not None:
        declared = {
            data.ref: resources.get(data.ref) or _plan_resource(data, places)
            for data in known.resources
            if _is_applied(data)
        } | resources
    problems = _fill_targets(declared, body if known is None else known, types)
    machine.declare(
        (planned.resource for planned in declared.values() if not planned.has_unknown_values),
        body.content,
        (planned.resource for planned in declared.values() if planned.has_unknown_values),
    )
    for planned in resources.values():
        planned.schedule, planned.problem = _find_schedule(planned, declared)
        planned.problem = planned.problem or problems.get(planned.ref)
        if not planned.has_unknown_values and planned.problem is None:
            planned.make_handler(machine)
    if machine.has_bridge:
        follow_named(order, body, _bridged_relations(machine), types)
    sequence, cycle = order.resources()
    if cycle:
        raise explain_cycle(cycle, places)
    everything = body.resources if known is None else (*body.resources, *known.resources)
    secrets = frozenset(text for data in everything for text in secret_texts(data))
    return Plan(order, [ref for ref in sequence if ref in resources], resources, secrets, _left_out(body, known))


def _left_out(body: Body, known: Body | None) -> dict[str, str]:
    if known is None:
        return {}
    here = {promise.key for promise in list_promises(body)}
    text = "{ref} is not in the part of the catalog that is applied"
    return {each.key: text.format(ref=each.ref) for each in list_promises(known) if each.key not in here}


def _bridge(resource: DesiredResource, machine: Machine) -> Handler:
    """The handler of a resource that Ruby code of a module applies."""
    from precast.resources.bridge.handler import BridgedHandler  # most runs do not need it

    handler = BridgedHandler(resource, machine, machine.bridge)
    machine.bridge.add([resource])
    return handler


def _bridged_relations(machine: Machine) -> Sequence[NamedRelation]:
    """The automatic relationships that Ruby types name. If Ruby cannot be asked, each of its resources reports why in its turn."""
    try:
        return machine.bridge.relations() if machine.trusts_code else ()
    except PrecastError:
        return ()


def _fill_targets(resources: Mapping[str, PlannedResource], body: Body, types: Types) -> dict[str, PrecastError]:
    """Give the data that datacat's fragments collect to its targets; returns the problems of collectors.

    In Puppet a collector does so when its turn comes, before its target. Here handlers get their parameters when they are made, and the
    data is in the catalog from the start.
    """
    collectors = [planned for planned in resources.values() if planned.resource.type == "datacat_collector"]
    if not collectors:
        return {}
    from precast.resources.datacat import merging  # few catalogs have one

    problems: dict[str, PrecastError] = {}
    fragments = [planned.resource for planned in resources.values() if planned.resource.type == "datacat_fragment"]
    find = resolver(body, types)
    for planned in collectors:
        ref = str(planned.resource.get("target_resource"))
        try:
            target = resources.get(ref) or resources.get(find(ref))
            if target is None:
                raise issues_modules.NO_TARGET.error(ref=ref)
            target.resource = merging.fill_target(planned.resource, fragments, target.resource)
        except PrecastError as error:
            problems[planned.ref] = error
    return problems


def _is_applied(data: ResourceData) -> bool:
    return not is_container(data) and not data.virtual


def _plan_resource(data: ResourceData, places: SourceMap | None) -> PlannedResource:
    has_unknown = any(values.is_unknown(value) for value in data.parameters.values())
    place = places.places.get(data.ref) if places is not None else None
    # The known parameters are there from the start: above all the name, by which other resources leave this one alone.
    known = (
        {name: value for name, value in data.parameters.items() if not values.is_unknown(value)}
        if has_unknown
        else data.parameters
    )
    return PlannedResource(data, make_resource(data, known, (place.file, place.line) if place else None), has_unknown)


def make_resource(
    data: ResourceData, parameters: Mapping[str, Any], place: tuple[str, int] | None = None
) -> DesiredResource:
    """Make the desired resource that its handler gets."""
    own: dict[str, Any] = {}
    meta: dict[str, Any] = {}
    secrets = set(data.sensitive_parameters)
    for name, value in parameters.items():
        if value is None:
            continue
        if name in METAPARAMETERS:
            meta[name] = value if isinstance(value, str) else values.plain(value)
        elif isinstance(value, str):
            own[name] = value
        else:
            own[name] = values.plain(value)
            if is_sensitive(value):
                secrets.add(name)
    file, line = place or (None, None)
    return DesiredResource(data.type.lower(), data.title, own, frozenset(secrets), meta, data.tags, file, line)


def _find_schedule(
    planned: PlannedResource, resources: Mapping[str, PlannedResource]
) -> tuple[Schedule | None, PrecastError | None]:
    """Find the schedule that a resource names. An unknown or invalid schedule is an error of each resource that names it."""
    name = planned.data.parameters.get("schedule")
    if name is None:
        return None, None
    try:
        declared = resources.get(f"Schedule[{name}]")
        if declared is not None:
            return schedules.parse_schedule(str(name), declared.resource.parameters), None
        schedule = schedules.BUILT_IN.get(str(name))
        if schedule is None:
            raise issues.NO_SCHEDULE.error(ref=planned.ref, schedule=name)
    except PrecastError as error:
        return None, error
    return schedule, None
