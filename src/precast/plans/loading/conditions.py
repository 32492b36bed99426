"""Reads conditions, inputs from the results of other tasks, and the questions that a person must answer before a task begins."""

from typing import Any

from precast.base.errors import PrecastError
from precast.plans import issues
from precast.plans.conditions import parse_condition
from precast.plans.loading.fields import Field, read_expression
from precast.plans.loading.shapes import EXPRESSION_SCHEMA, TEXT_SCHEMA, Shape, selectors, text
from precast.plans.model import Condition, TaskInput

MAX_CONDITION = 64 * 1024
MAX_INPUTS = 100
_INPUT_KEYS = ("task", "key", "role")
_TEXT = text("a condition", MAX_CONDITION)
_TASK = text("the name of a task")
_KEY = text("a dotted path")
_ROLE = selectors()
_QUESTION = text("the question that a person is asked, or true", 2_000)


def condition() -> Shape:
    """A YAQL expression, or one of Fuel's older strings."""

    def read(field: Field) -> Condition | None:
        if (expression := read_expression(field)) is not None:
            return Condition(expression)
        if field.node.entries is not None:
            field.refuse("a text, or a mapping with yaql_exp alone", "write `yaql_exp: EXPRESSION` below condition")
            return None
        found = _TEXT.read(field)
        return None if found is None else _check_older(field, found)

    return Shape(read, {"anyOf": [TEXT_SCHEMA, EXPRESSION_SCHEMA]})


def _check_older(field: Field, found: str) -> Condition | None:
    try:
        parse_condition(found, field.label)
    except PrecastError as error:
        field.problems.add_error(error, field.at)
        return None
    return Condition(found, is_yaql=False)


def inputs() -> Shape:
    """Values by name, each from the result of another task."""
    item = {
        "type": "object",
        "properties": {
            "task": {"type": "string", "description": "The task that has the result."},
            "key": {"type": "string", "description": "A dotted path in the result; without it the whole."},
            "role": {"type": ["string", "array"], "description": "The nodes; without it the same node."},
        },
        "required": ["task"],
        "additionalProperties": False,
    }
    return Shape(_read_inputs, {"type": "object", "additionalProperties": item, "maxProperties": MAX_INPUTS})


def question() -> Shape:
    """The question, or true for the usual one."""

    def read(field: Field) -> str | None:
        if isinstance(field.node.value, bool):
            return "Go on?" if field.node.value else ""
        found: str | None = _QUESTION.read(field)
        return found

    return Shape(read, {"type": ["string", "boolean"]})


def _read_inputs(field: Field) -> dict[str, TaskInput] | None:
    if not field.require_mapping("a mapping from names to results", "write `NAME: {task: TASK, key: PATH}`"):
        return None
    found = {name: _read_input(item) for name, item in field.entries()}
    if len(found) > MAX_INPUTS:
        field.refuse(f"at most {MAX_INPUTS} inputs")
    return {name: item for name, item in found.items() if item is not None}


def _read_input(item: Field) -> TaskInput | None:
    if not item.require_mapping("a mapping with task and key", "write `{task: TASK, key: PATH}`"):
        return None
    item.refuse_unknown(_INPUT_KEYS)
    if (task := item.get("task")) is None:
        item.error(issues.MISSING_FIELD, what=item.label, field="task", advice="name the task that has the result")
        return None
    key, role = item.get("key"), item.get("role")
    values: dict[str, Any] = {"task": _TASK.read(task)}
    if key is not None:
        values["key"] = _KEY.read(key)
    if role is not None:
        values["role"] = _ROLE.read(role)
    return None if None in values.values() else TaskInput(**values)
