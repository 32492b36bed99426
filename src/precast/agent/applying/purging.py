"""`resources { TYPE: purge => true }`: what is there and in no catalog is made absent.

The instances are listed before the run, as Puppet does, and each becomes a resource of the catalog right after the one that asks for
it; so it has its turn, its events and its relationships like any other.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from precast.agent.applying.machine import Machine
from precast.base.errors import PrecastError
from precast.catalog.body import Body, Edge, ResourceData
from precast.resources import registry
from precast.types import catalogue


def with_purged(body: Body, machine: Machine) -> Body:
    """The catalog with what is to be purged. A type that cannot be listed is left to its own turn to say so."""
    asking = [each for each in body.resources if each.type == "Resources" and _is_true(each.parameters.get("purge"))]
    if not asking:
        return body
    containers = {edge.target: edge.source for edge in body.edges}
    resources: list[ResourceData] = []
    edges: list[Edge] = list(body.edges)
    for each in body.resources:
        resources.append(each)
        if each in asking:
            for doomed in _doomed(each, body, machine):
                resources.append(doomed)
                if each.ref in containers:
                    edges.append(Edge(containers[each.ref], doomed.ref))
    return msgspec.structs.replace(body, resources=tuple(resources), edges=tuple(edges))


def _doomed(asking: ResourceData, body: Body, machine: Machine) -> Iterator[ResourceData]:
    name = str(asking.parameters.get("name", asking.title)).lower()
    kind = registry.find(name)
    if kind is None or not kind.can_be_purged:
        return
    known = _named(body, name)
    try:
        instances = list(kind.instances(machine))
    except (PrecastError, NotImplementedError):
        return
    passed_on: dict[str, Any] = {
        key: asking.parameters[key] for key in ("noop", "loglevel", "schedule") if key in asking.parameters
    }
    for instance in instances:
        spared = name == "user" and _is_spared(asking, instance.properties.get("uid"), instance.title)
        if instance.title not in known and not spared:
            parameters = {**instance.properties, "ensure": "absent", "require": asking.ref, **passed_on}
            yield ResourceData(name.capitalize(), instance.title, parameters, (*asking.tags, name))


def _named(body: Body, name: str) -> set[str]:
    declared = catalogue.find(name)
    found: set[str] = set()
    for each in body.resources:
        if each.type.lower() == name:
            found.add(each.title)
            if declared is not None:
                found.add(str(each.parameters.get(declared.namevar, declared.title_to_namevar(each.title))))
    return found


def _is_spared(asking: ResourceData, uid: object, title: str) -> bool:
    """Accounts of the system, and those a user names."""
    number = int(str(uid)) if str(uid).isdecimal() else 0
    if title == "root" or number == 0:
        return True
    limit = asking.parameters.get("unless_system_user")
    if limit is not None and limit is not False and number <= (1000 - 1 if limit is True else int(limit)):
        return True
    spared = asking.parameters.get("unless_uid")
    return number in [int(each) for each in (spared if isinstance(spared, list) else [spared]) if each is not None]


def _is_true(value: object) -> bool:
    return value in (True, "true")
