"""Turns the declared resources into the catalog's body: relationships, late overrides, inherited tags and metaparameters, checks.

A parameter that contains an unwrapped secret becomes a secret one; a name that contains one is an error, because names cannot be hidden.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from precast.base.errors import PrecastError
from precast.base.scrubbing import Scrubber
from precast.catalog.body import DEFINED, Body, Edge, ResourceData
from precast.catalog.sensitive import texts
from precast.catalog.source_map import SourceLocation, SourceMap
from precast.lang import datatypes
from precast.lang.compiler.pinned_files import pinned_content
from precast.lang.compiler.resources import RELATIONSHIPS, Parameter, Resource, capitalized, flatten, ref_of
from precast.lang.compiler.serialization import parameter_data
from precast.lang.compiler.suggestions import did_you_mean
from precast.lang.compiler.types.known_types import KnownTypes, is_inherited, is_metaparameter
from precast.lang.issues import compiler as issues
from precast.lang.values.base import Sensitive
from precast.lang.values.secret_texts import MIN_CHARS, SecretTexts
from precast.lang.values.unknowns import has_unknown
from precast.types import config_files

if TYPE_CHECKING:
    from precast.lang.compiler.catalog import Catalog
    from precast.lang.compiler.compilation import Compilation


def finish(compilation: "Compilation") -> tuple[Body, SourceMap]:
    """Finish the catalog. Raises errors that can be found only after everything is declared."""
    catalog = compilation.catalog
    catalog.apply_relationships()
    catalog.apply_late_overrides()
    catalog.check_realized()
    tags = _all_tags(catalog)
    _propagate(compilation, catalog, tags)
    included = [resource for resource in catalog.resources.values() if not resource.virtual or resource.exported]
    refs = {resource.ref for resource in included}
    for resource in catalog.resources.values():
        try:
            _check(compilation, catalog, resource)
        except PrecastError as error:
            if error.span is None:
                error.source, error.span = resource.source, resource.span
            raise
    resources = [_data(compilation.known_types, resource, tags[resource.ref]) for resource in included]
    if (unwrapped := compilation.inputs.secrets.find_among(_strings(resources))) is not None:
        resources = [
            _hide_unwrapped(data, resource, compilation.inputs.secrets, unwrapped)
            for data, resource in zip(resources, included, strict=True)
        ]
    body = Body(
        resources=tuple(resources),
        edges=tuple(Edge(*pair) for pair in catalog.edges if pair[0] in refs and pair[1] in refs),
        classes=("settings", *catalog.classes),
        tags=tuple(
            sorted(
                {
                    tag
                    for resource in included
                    if resource.is_class or resource.type_name == "node"
                    for tag in tags[resource.ref]
                }
            )
        ),
        content=pinned_content(compilation, included),
        types=_types(compilation.known_types, included),
    )
    return body, SourceMap({resource.ref: place for resource in included if (place := _place(resource)) is not None})


def _types(known: KnownTypes, resources: Iterable[Resource]) -> dict[str, Any]:
    """What a node must know of the types in the catalog, beside what it knows of all types."""
    names = {resource.type_name for resource in resources if resource.definition is None and not resource.is_class}
    names |= {str(resource.title).lower() for resource in resources if resource.type_name == "resources"}
    declared = ((name, known.find(name)) for name in names)
    return config_files.to_data({name: each.config_file for name, each in declared if each and each.config_file})


def _place(resource: Resource) -> SourceLocation | None:
    if resource.source is None or resource.span is None or not resource.source.path:
        return None
    return SourceLocation(resource.source.path, resource.source.position(resource.span.start).line)


def _all_tags(catalog: "Catalog") -> dict[str, dict[str, None]]:
    """The tags of each resource together with those of its container, which was declared before it."""
    tags: dict[str, dict[str, None]] = {}
    for resource in catalog.resources.values():
        resource_tags = dict(resource.tags)
        around = resource.frame.resource if resource.frame is not None else None
        if around is not None and around is not resource and not resource.is_class:
            resource_tags.update(tags.get(around.ref, around.tags))
        tags[resource.ref] = resource_tags
    return tags


def _propagate(compilation: "Compilation", catalog: "Catalog", tags: dict[str, dict[str, None]]) -> None:
    """Propagate from the main class to contents: tags, and metaparameters to resources that do not set them."""
    inside: dict[str, list[str]] = {}
    for container, content in catalog.edges:
        inside.setdefault(container, []).append(content)
    queue = deque([compilation.main.ref])
    seen = {compilation.main.ref}
    while queue:
        source = queue.popleft()
        given = {
            name: parameter
            for name, parameter in catalog.resources[source].parameters.items()
            if is_inherited(name) and parameter.value is not None
        }
        for ref in inside.get(source, ()):
            target = catalog.resources[ref]
            for name, parameter in given.items():
                if target.value(name) is None:
                    target.parameters[name] = Parameter(parameter.value, parameter.frame)
            tags[ref].update(tags[source])
            if ref not in seen:
                seen.add(ref)
                queue.append(ref)


def _check(compilation: "Compilation", catalog: "Catalog", resource: Resource) -> None:
    is_managed = resource.definition is None and not resource.is_class and resource.type_name != "node"
    for name, parameter in resource.parameters.items():
        if is_managed:
            _check_name(compilation.known_types, resource, name)
        if parameter.value is None:
            continue
        if name in RELATIONSHIPS:
            parameter.value = compilation.concrete(parameter.value)
            if not resource.virtual:  # a resource that stays virtual is applied on another node or never
                _check_relationship(catalog, resource, name, parameter.value)
        elif is_metaparameter(name) and compilation.has_unknowns and has_unknown(parameter.value):
            parameter.value = compilation.concrete(parameter.value)


def _check_name(known: KnownTypes, resource: Resource, name: str) -> None:
    if not known.has_parameter(resource.type_name, name):
        guess = did_you_mean(name, known.parameters(resource.type_name))
        raise issues.NO_PARAMETER_OF_TYPE.error(name=name, ref=resource.ref, guess=guess, type=resource.type_name)


def _check_relationship(catalog: "Catalog", resource: Resource, name: str, value: Any) -> None:
    for operand in flatten(value):
        if operand is None:
            continue
        target = catalog.reference_of(operand) if isinstance(operand, str) else operand
        if not isinstance(target, datatypes.ResourceType | datatypes.ClassType):
            raise issues.NO_REFERENCE.error(text=str(operand))
        if catalog.find(ref_of(target)) is None:
            raise issues.RELATION_PARAMETER_MISSING.error(missing=ref_of(target), name=name, ref=resource.ref)


def _data(known: KnownTypes, resource: Resource, tags: dict[str, None]) -> ResourceData:
    parameters: dict[str, Any] = {}
    secret: list[str] = []
    for given_name, value in known.with_title(resource).items():
        name = given_name.lower()  # a catalog has no capital letters in names, though variables may
        if isinstance(value, Sensitive):
            secret.append(name)
            value = value.unwrap()
        if value is not None:
            parameters[name] = _relationship_data(value) if name in RELATIONSHIPS else parameter_data(value)
    title = capitalized(resource.title) if resource.is_class and resource.title != "main" else resource.title
    return ResourceData(
        type=capitalized(resource.type_name),
        title=title,
        parameters=parameters,
        tags=tuple(sorted(tags)),
        exported=resource.exported,
        virtual=resource.virtual,
        sensitive_parameters=tuple(secret),
        kind=DEFINED if resource.definition is not None and not resource.is_class else "",
    )


def _relationship_data(value: Any) -> Any:
    """References as text, with nested arrays flattened."""
    if isinstance(value, tuple):
        return [parameter_data(item) for item in flatten(value) if item is not None]
    return parameter_data(value)


def _strings(resources: Iterable[ResourceData]) -> Iterator[str]:
    """All texts of resources."""
    for resource in resources:
        yield from (resource.title, *resource.tags)
        yield from texts(resource.parameters)


def _hide_unwrapped(data: ResourceData, resource: Resource, secrets: SecretTexts, unwrapped: Scrubber) -> ResourceData:
    """The resource with each parameter that contains an unwrapped text as a secret one. Raises LANG-790 for names."""
    unwrapped = unwrapped.narrowed("\0".join(_strings([data])))
    if not unwrapped:
        return data
    metaparameters = {name: value for name, value in data.parameters.items() if is_metaparameter(name)}
    for what, names in (("a title", (data.title,)), ("a tag", data.tags), ("a metaparameter", texts(metaparameters))):
        if secrets.is_in_name("\0".join(names)):
            raise issues.SECRET_IN_NAME.error(
                resource.source, resource.span, what=f"{what} of a resource of type {data.type}"
            )
    hidden = tuple(
        name
        for name, value in data.parameters.items()
        if name not in (*data.sensitive_parameters, *metaparameters)
        and any(len(text) >= MIN_CHARS and unwrapped.scrub(text) != text for text in texts(value))
    )
    if not hidden:
        return data
    return msgspec.structs.replace(data, sensitive_parameters=(*data.sensitive_parameters, *hidden))
