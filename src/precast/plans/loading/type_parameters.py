"""Reads the parameters of a task, as far as their shape.

A parameter that no type knows is kept, as Fuel keeps it, with a warning if it looks like a misspelt one. For Precast's own types it is an
error.
"""

from collections.abc import Collection, Mapping
from typing import Any

from precast.plans import issues
from precast.plans.loading.fields import Field
from precast.plans.loading.nodes import shorten
from precast.plans.loading.task_types import Parameter, TaskDeclaration


def read_parameters(field: Field, declaration: TaskDeclaration, common: Collection[str]) -> dict[str, Any]:
    """The parameters as they are written, without those in `common`, which every task may have here."""
    known = (*declaration.parameters, *common)
    found: dict[str, Any] = {}
    if declaration.refuses_others:
        field.refuse_unknown(known)
    for key, item in field.entries():
        if key in common:
            continue
        parameter = declaration.parameters.get(key)
        if parameter is not None:
            if not item.node.is_null:
                value = parameter.shape.read(item)
                found[key] = list(value) if isinstance(value, tuple) else value
            continue
        if declaration.refuses_others:
            continue
        if near := field.problems.suggest(key, known):
            field.problems.warn(
                issues.UNKNOWN_FIELD, field.place_of(key), field=shorten(key), what=field.label, guess=near
            )
        found[key] = item.node.as_data()
    return found


def report_missing(
    subject: Field, declaration: TaskDeclaration, found: Mapping[str, Any], inputs: Collection[str]
) -> None:
    """Report what the type needs and neither the parameters nor the inputs of the task have."""
    for name, parameter in declaration.parameters.items():
        is_given = name in found or (parameter.may_be_input and name in inputs)
        if parameter.is_needed and not is_given:
            _report(subject, name, parameter)
    needs = declaration.needs_one_of
    if needs and not any(name in found for name in needs):
        _report(subject, needs[0], declaration.parameters[needs[0]])


def _report(subject: Field, name: str, parameter: Parameter) -> None:
    meaning = f"{parameter.description[0].lower()}{parameter.description[1:].rstrip('.')}"
    advice = f"write `{name}:` below parameters: {meaning}"
    subject.error(issues.MISSING_FIELD, what=subject.label, field=name, advice=advice)
