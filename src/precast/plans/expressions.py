"""The YAQL expressions of a task: `{yaql_exp: '$.a.b'}` anywhere in its parameters, and its condition.

This module finds them and puts the values in their places. What evaluates them is in `services.plans.evaluation`: a process that can be
killed.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from precast.plans.model import PlanTask

KEY: Final = "yaql_exp"

# The way to a value within the parameters of a task: keys of mappings and indexes of lists.
Place = tuple[str | int, ...]


class TaskExpression(NamedTuple):
    """An expression in the parameters of a task."""

    place: Place
    text: str

    @property
    def name(self) -> str:
        """Where it stands, for messages: `parameters.files.0.src`."""
        return ".".join(("parameters", *map(str, self.place)))


def find_expressions(task: PlanTask) -> list[TaskExpression]:
    """The expressions in the parameters of a task, in their order."""
    return [TaskExpression(place, text) for place, text in _find(task.parameters, ())]


def fill_in(task: PlanTask, values: Mapping[Place, Any]) -> PlanTask:
    """The task with the values of its expressions instead of these."""
    if not values:
        return task
    return msgspec.structs.replace(task, parameters=_fill_in(task.parameters, values, ()))


def _read_expression(value: Any) -> str | None:
    """The text of `{yaql_exp: TEXT}`; None if the value is anything else."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(text := value.get(KEY), str):
        return text
    return None


def _find(value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    text = _read_expression(value)
    if text is not None:
        yield place, text
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _find(item, (*place, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _find(item, (*place, index))


def _fill_in(value: Any, values: Mapping[Place, Any], place: Place) -> Any:
    if place in values and _read_expression(value) is not None:
        return values[place]
    if isinstance(value, dict):
        return {key: _fill_in(item, values, (*place, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill_in(item, values, (*place, index)) for index, item in enumerate(value)]
    return value
