"""Checks a catalog before any node applies it: the run of a catalog with a cycle would fail, and so would resources of unknown types.

The check needs no node. Its graph has the relationships of the agent's graph, so both find the same cycles.
"""

from collections.abc import Container, Iterator
from functools import cache

from precast.base.errors import PrecastError
from precast.catalog import issues
from precast.catalog.body import Body
from precast.catalog.problems import CatalogProblem
from precast.catalog.source_map import SourceMap
from precast.types import catalogue, config_files
from precast.types.application import NATIVE, NOT_THERE, how_applied
from precast.types.ordering import Types, find_cycle, is_container

# References that a text names; the others are counted.
REFS_SHOWN = 5


def check_catalog(body: Body, places: SourceMap, types: Types) -> tuple[CatalogProblem, ...]:
    """The problems of single resources. `types` are those that modules declare. Of types in Ruby, a compile says more: it knows the node.

    Raises InputError CATALOG-001 and CATALOG-002 for a catalog that cannot be applied at all.
    """
    if cycle := find_cycle(body, types):
        raise explain_cycle(cycle, places)
    refs_by_type: dict[str, list[str]] = {}
    how = cache(lambda type_name: _how(type_name.lower(), types, body.types))
    for resource in body.resources:
        if how(resource.type) == NOT_THERE and not resource.virtual and not is_container(resource):
            refs_by_type.setdefault(resource.type.lower(), []).append(resource.ref)
    not_applied = (
        issues.NOT_APPLIED.error(type=name, refs=_join_refs(refs)) for name, refs in sorted(refs_by_type.items())
    )
    return tuple(map(CatalogProblem.of_error, (*not_applied, *_find_unknown_parameters(body))))


def _find_unknown_parameters(body: Body) -> Iterator[PrecastError]:
    """Yield an error for each parameter of a type of settings that its module's type does not have.

    A resource of another type that has a parameter unknown to Precast goes through the bridge (`application.find_foreign`).
    """
    refs: dict[tuple[str, str], list[str]] = {}
    known = cache(lambda type_name: _known_attributes(type_name.lower(), body))
    for resource in body.resources:
        attributes = None if resource.virtual or is_container(resource) else known(resource.type)
        if attributes is None:
            continue
        for name in resource.parameters.keys() - attributes - catalogue.METAPARAMETERS.keys():
            refs.setdefault((resource.type.lower(), name), []).append(resource.ref)
    for (type_name, name), found in sorted(refs.items()):
        yield issues.UNKNOWN_PARAMETERS.error(type=type_name, name=name, refs=_join_refs(found))


def _known_attributes(type_name: str, body: Body) -> frozenset[str] | None:
    """The attributes of a type of settings, which the catalog describes; None for others."""
    if type_name not in body.types:
        return None
    found = config_files.of_data({type_name: body.types[type_name]})
    return frozenset(("name", *found[type_name].attributes)) if found else None


def _how(name: str, types: Types, applied: Container[str]) -> str:
    if name in applied:
        return NATIVE
    declared = types.get(name) or catalogue.find_any(name)
    return NOT_THERE if declared is None else how_applied(declared)


def explain_cycle(cycle: list[str], places: SourceMap | None) -> PrecastError:
    """The error for a cycle: its path in the notation of Puppet, and where its resources are declared."""
    known = [(ref, places.places[ref]) for ref in cycle if places is not None and ref in places.places]
    declared = ", ".join(dict.fromkeys(f"{ref} at {place.file}:{place.line}" for ref, place in known))
    return issues.CYCLE.error(cycle=" => ".join([*cycle, cycle[0]]), places=f": {declared}" if declared else "")


def _join_refs(refs: list[str]) -> str:
    more = f" and {len(refs) - REFS_SHOWN} more" if len(refs) > REFS_SHOWN else ""
    return ", ".join(refs[:REFS_SHOWN]) + more
