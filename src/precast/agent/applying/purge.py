"""`resources { TYPE: purge => true }`: instances on the node that the catalog does not manage are made absent.

The instances are listed before the run, as Puppet does. Each becomes a resource of the catalog right after the `resources` resource
that purges it, so it is applied, reported and ordered like any other.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from precast.agent.applying.machine import Machine
from precast.base.errors import PrecastError
from precast.catalog.body import Body, Edge, ResourceData
from precast.types import catalogue, config_files


def add_purged(body: Body, machine: Machine, known: Body | None = None, *, is_look_only: bool = False) -> Body:
    """Add the resources that are to be purged to a catalog. A type that cannot be listed fails when its resource is applied.

    If the body is a part of the catalog `known`, nothing that the whole manages is purged. A look-only run lists no resources whose names
    are secret; the resource that purges them is reported as not evaluated.
    """
    purging = [
        resource
        for resource in body.resources
        if resource.type == "Resources" and _is_true(resource.parameters.get("purge"))
    ]
    if not purging:
        return body
    machine.declare_types(config_files.of_data(body.types))
    containers = {edge.target: edge.source for edge in body.edges}
    resources: list[ResourceData] = []
    edges: list[Edge] = list(body.edges)
    for resource in body.resources:
        resources.append(resource)
        if resource in purging:
            for unmanaged in _find_unmanaged(resource, known or body, machine, is_look_only):
                resources.append(unmanaged)
                if resource.ref in containers:
                    edges.append(Edge(containers[resource.ref], unmanaged.ref))
    return msgspec.structs.replace(body, resources=tuple(resources), edges=tuple(edges))


def _find_unmanaged(purging: ResourceData, body: Body, machine: Machine, is_look_only: bool) -> Iterator[ResourceData]:
    """Yield a resource that is to be absent for each instance on the node that the catalog does not manage."""
    name = str(purging.parameters.get("name", purging.title)).lower()
    kind = machine.find_handler(name)
    if kind is None or not kind.can_be_purged or (is_look_only and kind.has_secret_list):
        return
    managed = _managed_names(body, name)
    try:
        instances = list(kind.instances(machine))
    except (PrecastError, NotImplementedError):
        return
    inherited: dict[str, Any] = {
        key: purging.parameters[key] for key in ("noop", "loglevel", "schedule") if key in purging.parameters
    }
    for instance in instances:
        is_spared = name == "user" and _is_spared(purging, instance.properties.get("uid"), instance.title)
        if instance.title not in managed and not is_spared:
            parameters = {**instance.properties, "ensure": "absent", "require": purging.ref, **inherited}
            yield ResourceData(name.capitalize(), instance.title, parameters, (*purging.tags, name))


def _managed_names(body: Body, type_name: str) -> set[str]:
    """The titles and names of a type's resources in the catalog."""
    declared = catalogue.find(type_name)
    names: set[str] = set()
    for resource in body.resources:
        if resource.type.lower() == type_name:
            names.add(resource.title)
            names.add(str(resource.parameters.get("name", resource.title)))
            if declared is not None:
                default = declared.title_to_namevar(resource.title)
                names.add(str(resource.parameters.get(declared.namevar, default)))
    return names


def _is_spared(purging: ResourceData, uid: object, title: str) -> bool:
    """Whether an account is never purged: a system account, or one whose uid the manifest lists."""
    number = int(str(uid)) if str(uid).isdecimal() else 0
    if title == "root" or number == 0:
        return True
    limit = purging.parameters.get("unless_system_user")
    if limit is not None and limit is not False and number <= (1000 - 1 if limit is True else int(limit)):
        return True
    listed = purging.parameters.get("unless_uid")
    return number in [int(uid) for uid in (listed if isinstance(listed, list) else [listed]) if uid is not None]


def _is_true(value: object) -> bool:
    return value in (True, "true")
