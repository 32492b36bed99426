"""The values that a task saw on a node in a run: those that its condition and expressions name, and its inputs.

Expressions are only searched for paths such as `$.facts.os.name`, not evaluated again. Within `where` and the like, `$` means something
else; a path that leads nowhere from its first key is left out therefore.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from precast.plans.conditions import parse_condition
from precast.plans.expressions import find_expressions
from precast.plans.model import Expansion, PlanTask
from precast.plans.values.inputs import gather_inputs, read_result
from precast.wire.plans.bodies import InstanceView

_PATH: Final = re.compile(r"\$(node|common|parameters)?((?:\.[A-Za-z_]\w*\b(?!\s*\())+)")
_PARAMETERS: Final = "parameters"


class SeenData(NamedTuple):
    """The data of a node as a condition saw it, and that of the last success of the task, if it was compared."""

    now: Mapping[str, Any] = {}
    earlier: Mapping[str, Any] | None = None


class SeenRun(NamedTuple):
    """What is known of a run: its tasks on nodes, the data of nodes as its conditions saw it, and the plan's parameters."""

    instances: Iterable[InstanceView] = ()
    data: Mapping[str, SeenData] = {}
    parameters: Mapping[str, Any] = {}


class ReadPath(NamedTuple):
    """A path that a task reads: of a parameter of the plan, or of the data of a node."""

    is_parameter: bool
    keys: tuple[str, ...]


def find_paths(task: PlanTask) -> list[ReadPath]:
    """The paths that the condition and the expressions of a task name, in their order."""
    return list(dict.fromkeys(_list_paths(task)))


def read_values(paths: Iterable[ReadPath], data: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The values by dotted path; None for one that exists in part only."""
    found = {}
    for path in paths:
        source = parameters if path.is_parameter else data
        if path.keys[0] in source:
            found[".".join((*([_PARAMETERS] if path.is_parameter else []), *path.keys))] = _look_up(source, path.keys)
    return found


class SeenInputs:
    """The inputs that tasks had, from what others have returned as far as it is shown."""

    def __init__(self, expansion: Expansion, instances: Iterable[InstanceView]) -> None:
        self._nodes = expansion.nodes
        self._own: dict[tuple[str, str], Any] = {}
        self._of_roles: dict[str, dict[str, Any]] = {}
        for view in instances:
            if view.result is not None and (result := read_result(view.result.returned)) is not None:
                self._own[view.task, view.node] = result
                self._of_roles.setdefault(view.task, {})[view.node] = result

    def find(self, task: PlanTask, view: InstanceView) -> dict[str, Any]:
        """The inputs of a task on a node; nothing if it has not begun, or if nothing is shown of what others have returned."""
        givers = {source.task for source in task.inputs.values()}
        if view.picked_up_at is None or not givers & self._of_roles.keys():
            return {}
        return gather_inputs(task, view.node, self._nodes, self._own, self._of_roles)


def _list_paths(task: PlanTask) -> Iterator[ReadPath]:
    condition = task.condition
    if condition is not None and not condition.is_yaql:
        yield from (ReadPath(False, keys) for keys in parse_condition(condition.text).list_paths())
    texts = [condition.text] if condition is not None and condition.is_yaql else []
    texts += [expression.text for expression in find_expressions(task)]
    for text in texts:
        for match in _PATH.finditer(text):
            yield ReadPath(match[1] == _PARAMETERS, tuple(match[2][1:].split(".")))


def _look_up(value: Any, keys: Iterable[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
