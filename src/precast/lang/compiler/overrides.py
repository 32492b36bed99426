"""Overrides: who may set a parameter that is set already.

A class that inherits from the one that declared the resource may, and so may a collector. The class itself may only add what is
not set, or replace what came from resource defaults.
"""

from typing import TYPE_CHECKING, Any

from precast.base.spans import Source, Span
from precast.lang.compiler.resources import Parameter, Resource, flatten
from precast.lang.issues import compiler as issues
from precast.lang.scope import Frame

if TYPE_CHECKING:
    from precast.lang.compiler.run import Run

# Name, value, and whether it adds to what is there (`+>`).
Attribute = tuple[str, Any, bool]


def merge(
    run: "Run",
    resource: Resource,
    attributes: list[Attribute],
    frame: Frame,
    source: Source,
    span: Span,
    by_collector: bool = False,
) -> None:
    """Sets parameters over those there. Raises where the one who overrides may not."""
    may = by_collector or _inherits(frame, resource.frame)
    if not may and frame is not resource.frame:
        raise issues.NOT_A_SUBCLASS.error(source, span, ref=resource.ref, where=resource.place())
    if resource.is_evaluated:
        run.at(source, span).complain(issues.OVERRIDE_AFTER_EVALUATION, ref=resource.ref, where=resource.place())
    for name, value, adds in run.catalog.settled(resource.type_name, attributes):
        present = resource.parameters.get(name)
        if present is not None:
            if not may and not _is_default(resource, name, present):
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


def _inherits(frame: Frame, other: Frame | None) -> bool:
    """Whether a frame is that of a class which inherits, at any distance, from the other's."""
    above = frame.parent_class
    while above is not None:
        if above is other:
            return True
        above = above.parent_class
    return False
