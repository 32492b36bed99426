"""Runs the type code of modules over the finished catalog: the values that it refuses, and the automatic relations that it computes.

Puppet runs this code on the node, before it applies anything, so that one refused value fails the whole run. Here it fails the catalog,
like a cycle: what no node can begin to apply is never released.
"""

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from precast.base.errors import PrecastError
from precast.lang.compiler.resources import Resource
from precast.lang.issues import compiler as issues
from precast.lang.values.base import Hash, Sensitive
from precast.lang.values.unknowns import has_unknown_text
from precast.types.declaration import AutoRelation, ManagedType

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation
    from precast.lang.type_code.running import CheckedResource, Relation

Types = dict[str, ManagedType]


def check_types(compilation: "Compilation", types: Types) -> tuple[Types, tuple[PrecastError, ...]]:
    """Return the types with the relations that their code computed, and the errors for refused resources in their order."""
    resources = [
        resource
        for resource in compilation.catalog.resources.values()
        if resource.type_name in types and not (resource.virtual or resource.exported) and resource.definition is None
    ]
    if not resources:
        return types, ()
    refused: list[PrecastError] = []
    relations: dict[str, dict[str, tuple[AutoRelation, ...]]] = {}
    for resource in resources:
        name = resource.type_name
        code = compilation.type_codes.find(name)
        if code is None:
            continue
        checked = code.check(resource.title, _values(compilation, resource))
        if checked.refused is not None:
            refused.append(_error(resource, checked))
        elif checked.relations is not None:
            relations.setdefault(name, {})[resource.title] = tuple(map(_auto_relation, checked.relations))
    made = {name: msgspec.structs.replace(types[name], computed=computed) for name, computed in relations.items()}
    return {**types, **made}, tuple(refused)


def _values(compilation: "Compilation", resource: Resource) -> dict[str, Any]:
    """Return the values of a resource as type code gets them, with those that the title sets."""
    from precast.lang.ruby.values import to_ruby
    from precast.lang.type_code.instances import UNKNOWN

    declared = compilation.known_types.find(resource.type_name)
    assert declared is not None
    given: dict[str, Any] = dict(compilation.known_types.names_of_title(declared, resource.title))
    for name, parameter in resource.parameters.items():
        value = parameter.value
        if value is None:
            continue
        naming = declared.title_attribute if name == "name" and "name" not in declared.attributes else name.lower()
        given[naming] = UNKNOWN if has_unknown_text(value) else to_ruby(_plain(value))
    return given


def _plain(value: Any) -> Any:
    """Return a value with secrets unwrapped."""
    if isinstance(value, Sensitive):
        return _plain(value.unwrap())
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, Hash):
        return Hash.of((_plain(key), _plain(item)) for key, item in value.items())
    return value


def _error(resource: Resource, checked: "CheckedResource") -> PrecastError:
    assert checked.refused is not None
    attribute, reason = checked.refused
    is_secret = any(isinstance(parameter.value, Sensitive) for parameter in resource.parameters.values())
    what = f"Parameter {attribute} failed on {resource.ref}" if attribute else f"Validation of {resource.ref} failed"
    return issues.REFUSED_BY_TYPE.error(
        resource.source,
        resource.span,
        what=what,
        reason="the reason is not shown, because the resource has a secret" if is_secret else reason,
        type=resource.type_name,
    )


def _auto_relation(relation: "Relation") -> AutoRelation:
    kind: Literal["before", "require"] = "before" if relation.kind == "before" else "require"
    return AutoRelation(relation.type_name, (), kind=kind, titles=relation.titles)
