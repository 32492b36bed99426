"""From what was declared to the body: arrows and late overrides, tags and metaparameters handed down, checks, data."""

from collections import deque
from typing import TYPE_CHECKING, Any

from precast.base.errors import PrecastError
from precast.catalog.body import DEFINED, Body, Edge, ResourceData
from precast.catalog.source_map import Place, SourceMap
from precast.lang import datatypes
from precast.lang.compiler.contents import pinned_content
from precast.lang.compiler.guesses import did_you_mean
from precast.lang.compiler.relations import ref_of
from precast.lang.compiler.resources import RELATIONS, Parameter, Resource, capitalized, flatten
from precast.lang.compiler.serial import parameter_data
from precast.lang.compiler.types.known_types import KnownTypes, is_handed_down, is_metaparameter
from precast.lang.issues import compiler as issues
from precast.lang.values.core import Sensitive
from precast.lang.values.unknowns import holds_unknown

if TYPE_CHECKING:
    from precast.lang.compiler.catalog import Catalog
    from precast.lang.compiler.run import Run


def finish(run: "Run") -> tuple[Body, SourceMap]:
    """The finished catalog. Raises for what can only be wrong once everything is declared."""
    catalog = run.catalog
    catalog.apply_relations()
    catalog.apply_late_overrides()
    catalog.check_realized()
    tags = _all_tags(catalog)
    _hand_down(run, catalog, tags)
    kept = [resource for resource in catalog.resources.values() if not resource.virtual or resource.exported]
    refs = {resource.ref for resource in kept}
    for resource in catalog.resources.values():
        try:
            _check(run, catalog, resource)
        except PrecastError as error:
            if error.span is None:
                error.source, error.span = resource.source, resource.span
            raise
    body = Body(
        resources=tuple(_data(run.types_known, resource, tags[resource.ref]) for resource in kept),
        edges=tuple(Edge(*pair) for pair in catalog.edges if pair[0] in refs and pair[1] in refs),
        classes=("settings", *catalog.classes),
        tags=tuple(
            sorted({tag for each in kept if each.is_class or each.type_name == "node" for tag in tags[each.ref]})
        ),
        content=pinned_content(run, kept),
    )
    return body, SourceMap({resource.ref: place for resource in kept if (place := _place(resource)) is not None})


def _place(resource: Resource) -> Place | None:
    if resource.source is None or resource.span is None or not resource.source.path:
        return None
    return Place(resource.source.path, resource.source.position(resource.span.start).line)


def _all_tags(catalog: "Catalog") -> dict[str, dict[str, None]]:
    """The tags of each resource with those of the one it stands in, which was declared before it."""
    tags: dict[str, dict[str, None]] = {}
    for resource in catalog.resources.values():
        found = dict(resource.tags)
        around = resource.frame.resource if resource.frame is not None else None
        if around is not None and around is not resource and not resource.is_class:
            found.update(tags.get(around.ref, around.tags))
        tags[resource.ref] = found
    return tags


def _hand_down(run: "Run", catalog: "Catalog", tags: dict[str, dict[str, None]]) -> None:
    """From the main class down: metaparameters to those that have none of their own, and tags."""
    inside: dict[str, list[str]] = {}
    for container, content in catalog.edges:
        inside.setdefault(container, []).append(content)
    waiting = deque([run.main.ref])
    seen = {run.main.ref}
    while waiting:
        source = waiting.popleft()
        given = {
            name: parameter
            for name, parameter in catalog.resources[source].parameters.items()
            if is_handed_down(name) and parameter.value is not None
        }
        for ref in inside.get(source, ()):
            target = catalog.resources[ref]
            for name, parameter in given.items():
                if target.value(name) is None:
                    target.parameters[name] = Parameter(parameter.value, parameter.frame)
            tags[ref].update(tags[source])
            if ref not in seen:
                seen.add(ref)
                waiting.append(ref)


def _check(run: "Run", catalog: "Catalog", resource: Resource) -> None:
    is_managed = resource.definition is None and not resource.is_class and resource.type_name != "node"
    for name, parameter in resource.parameters.items():
        if is_managed:
            _check_name(run.types_known, resource, name)
        if parameter.value is None:
            continue
        if name in RELATIONS:
            parameter.value = run.concrete(parameter.value)
            if not resource.virtual:  # what stays virtual is applied elsewhere or not at all
                _check_relation(catalog, resource, name, parameter.value)
        elif is_metaparameter(name) and run.has_unknowns and holds_unknown(parameter.value):
            parameter.value = run.concrete(parameter.value)


def _check_name(known: KnownTypes, resource: Resource, name: str) -> None:
    if not known.has_parameter(resource.type_name, name):
        guess = did_you_mean(name, known.parameters(resource.type_name))
        raise issues.NO_PARAMETER_OF_TYPE.error(name=name, ref=resource.ref, guess=guess, type=resource.type_name)


def _check_relation(catalog: "Catalog", resource: Resource, name: str, value: Any) -> None:
    for each in flatten(value):
        if each is None:
            continue
        target = catalog.reference_of(each) if isinstance(each, str) else each
        if not isinstance(target, datatypes.ResourceType | datatypes.ClassType):
            raise issues.NO_REFERENCE.error(text=str(each))
        if catalog.find(ref_of(target)) is None:
            raise issues.RELATION_PARAMETER_MISSING.error(missing=ref_of(target), name=name, ref=resource.ref)


def _data(known: KnownTypes, resource: Resource, tags: dict[str, None]) -> ResourceData:
    parameters: dict[str, Any] = {}
    secret: list[str] = []
    for name, parameter in known.with_title(resource).items():
        value = parameter
        if isinstance(value, Sensitive):
            secret.append(name)
            value = value.unwrap()
        if value is not None:
            parameters[name] = _relation_data(value) if name in RELATIONS else parameter_data(value)
    title = capitalized(resource.title) if resource.is_class and resource.title != "main" else resource.title
    return ResourceData(
        type=capitalized(resource.type_name),
        title=title,
        parameters=parameters,
        tags=tuple(sorted(tags)),
        exported=resource.exported,
        sensitive_parameters=tuple(secret),
        kind=DEFINED if resource.definition is not None and not resource.is_class else "",
    )


def _relation_data(value: Any) -> Any:
    """References as text, nested arrays flat."""
    if isinstance(value, tuple):
        return [parameter_data(each) for each in flatten(value) if each is not None]
    return parameter_data(value)
