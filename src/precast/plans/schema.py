"""The JSON schema of plans, for editors: it completes fields, and marks what the loader would refuse or warn of.

It is made from the tables that the loader reads by, so both know the same fields, types and parameters. Where the loader accepts an unknown
field with a warning, the schema refuses it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from precast.plans.loading.plan_files import PLAN_FIELDS
from precast.plans.loading.task_fields import EXECUTION, TASK_FIELDS, TaskField
from precast.plans.loading.task_types import TASK_TYPES, TaskDeclaration

Schema = dict[str, Any]
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PARAMETER = {
    "type": ["object", "null"],
    "properties": {
        "type": {"type": "string", "description": "A data type of the Puppet language, such as Integer[1, 64]."},
        "default": {"description": "The value if a start gives none; without it a value must be given."},
        "description": {"type": "string", "description": "For people."},
    },
    "additionalProperties": False,
}


def make_schema() -> Schema:
    """The schema of a file of a plan."""
    return {
        "$schema": _DIALECT,
        "title": "Precast plan",
        "description": "A list of tasks, or a mapping with tasks and parameters.",
        "type": ["array", "object", "null"],
        "if": {"type": "array"},
        "then": {"$ref": "#/$defs/tasks"},
        "else": {"if": {"type": "object"}, "then": {"$ref": "#/$defs/plan"}},
        "$defs": {
            "plan": _make_plan(),
            "tasks": {"type": "array", "items": {"$ref": "#/$defs/task"}},
            "task": _make_task(),
        },
    }


def _make_plan() -> Schema:
    properties = {name: _describe(name, field.shape.schema, field.description) for name, field in PLAN_FIELDS.items()}
    properties["tasks"] |= {"anyOf": [{"$ref": "#/$defs/tasks"}, {"type": "null"}]}
    properties["parameters"] |= {"type": ["object", "null"], "additionalProperties": _PARAMETER}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _make_task() -> Schema:
    identity = {
        "id": _describe("id", {"type": "string", "maxLength": 200}, "The name of the task; no other task has it."),
        "type": _describe("type", {"enum": list(TASK_TYPES)}, "What the task does."),
    }
    fields = _make_fields(TASK_FIELDS)
    fields["parameters"] |= {"type": ["object", "null"], "properties": _make_fields(EXECUTION)}
    return {
        "type": "object",
        "properties": {**identity, **fields},
        "required": ["id", "type"],
        "additionalProperties": False,
        "allOf": [_make_rule(name, declaration) for name, declaration in TASK_TYPES.items()],
    }


def _make_fields(fields: Iterable[TaskField]) -> Schema:
    properties: Schema = {}
    for field in fields:
        for name in field.names:
            text = field.description if name == field.names[0] else f"The same as {field.names[0]}. {field.description}"
            properties[name] = _describe(name, field.shape.schema, text)
    return properties


def _make_rule(name: str, declaration: TaskDeclaration) -> Schema:
    """What a type says of the parameters of its tasks. Those of Fuel's types stay open: Fuel has more than mean anything here."""
    parameters: Schema = {
        "type": ["object", "null"],
        "description": declaration.description,
        "properties": _make_parameters(declaration),
    }
    if declaration.refuses_others:
        parameters["propertyNames"] = {"enum": [*declaration.parameters, *(field.names[0] for field in EXECUTION)]}
    required = [
        parameter
        for parameter, declared in declaration.parameters.items()
        if declared.is_needed and not declared.may_be_input
    ]
    then: Schema = {"properties": {"parameters": parameters}}
    if required or declaration.needs_one_of:
        then["required"] = ["parameters"]
        parameters |= {"type": "object", "required": required}
    if declaration.needs_one_of:
        parameters["anyOf"] = [{"required": [each]} for each in declaration.needs_one_of]
    return {"if": {"properties": {"type": {"const": name}}, "required": ["type"]}, "then": then}


def _make_parameters(declaration: TaskDeclaration) -> Mapping[str, Schema]:
    return {
        name: _describe(name, parameter.shape.schema, parameter.description)
        for name, parameter in declaration.parameters.items()
    }


def _describe(name: str, schema: Schema, description: str) -> Schema:
    return {"title": name, **schema, "description": description}
