"""Overrides: which code may change a parameter that is already set.

A collector may, and so may a class that inherits from the class that declared the resource. The declaring class itself may only add
parameters that are not set, or replace values from resource defaults.
"""

from typing import TYPE_CHECKING, Any

from precast.base.spans import Source, Span
from precast.lang.compiler.resources import Parameter, Resource, flatten
from precast.lang.issues import compiler as issues
from precast.lang.scope import Frame

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation

# Name, value, and whether the value is added to the present one (`+>`).
Attribute = tuple[str, Any, bool]


def merge(
    compilation: "Compilation",
    resource: Resource,
    attributes: list[Attribute],
    frame: Frame,
    source: Source,
    span: Span,
    by_collector: bool = False,
) -> None:
    """Override a resource's parameters. Raises if the overriding code may not."""
    may_replace = by_collector or _inherits(frame, resource.frame)
    if not may_replace and frame is not resource.frame:
        raise issues.NOT_A_SUBCLASS.error(source, span, ref=resource.ref, where=resource.place())
    if resource.is_evaluated:
        compilation.at(source, span).complain(
            issues.OVERRIDE_AFTER_EVALUATION, ref=resource.ref, where=resource.place()
        )
    for name, value, adds in compilation.catalog.concrete_attributes(resource.type_name, attributes):
        present = resource.parameters.get(name)
        if present is not None:
            if not may_replace and not _is_default(resource, name, present):
                raise issues.ALREADY_SET.error(source, span, name=name, ref=resource.ref, where=resource.place())
            if adds:
                value = (*flatten(present.value), *flatten(value))
        resource.set(name, Parameter(value, frame))


def _is_default(resource: Resource, name: str, parameter: Parameter) -> bool:
    frame = resource.frame
    while frame is not None:
        if frame.defaults.get(resource.type_name, {}).get(name) is parameter:
            return True
        frame = frame.declared_in
    return False


def _inherits(frame: Frame, ancestor: Frame | None) -> bool:
    """Whether a frame belongs to a class that inherits, directly or not, from the class of the other frame."""
    parent = frame.parent_class
    while parent is not None:
        if parent is ancestor:
            return True
        parent = parent.parent_class
    return False
