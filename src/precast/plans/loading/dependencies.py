"""Reads which tasks a task waits for, and which wait for it: by name on the same node, and by name and role on others.

A dependency may be computed for each node by an expression. Then the plan has the expression, as a `ComputedDependencies`; what evaluates
it on the data of a node calls `read_computed` with the result. An item of a list that is partly computed becomes an expression as a whole,
so that there is one form of them.
"""

from typing import Any, Final, Literal, NamedTuple

from precast.plans import issues
from precast.plans.loading.fields import Field, read_expression
from precast.plans.loading.nodes import make_node
from precast.plans.loading.problems import Problems
from precast.plans.loading.scopes import scope_dependency, scope_name
from precast.plans.loading.shapes import (
    EXPRESSION_SCHEMA,
    TEXT_SCHEMA,
    Shape,
    choice,
    one_or_more,
    selectors,
    text,
    unique_texts,
)
from precast.plans.model import ComputedDependencies, CrossDependency, PlanTask

MAX_DEPENDENCIES: Final = 5_000
_KEYS: Final = ("name", "role", "policy")
_NAME: Final = text("the name of a task")
_ROLE: Final = selectors()
_POLICY: Final = choice("all", "any")


class Dependencies(NamedTuple):
    """What a field gives: names or dependencies, and expressions that each give a list of them."""

    given: tuple[Any, ...] = ()
    expressions: tuple[str, ...] = ()


def names() -> Shape:
    """Names of tasks, for the same node."""
    return Shape(_read_names, one_or_more({"anyOf": [TEXT_SCHEMA, EXPRESSION_SCHEMA]}))


def cross_dependencies() -> Shape:
    """Dependencies on other nodes."""
    name = {"anyOf": [TEXT_SCHEMA, EXPRESSION_SCHEMA], "description": "A task, or tasks by a regular expression /…/."}
    role = {
        **one_or_more({"anyOf": [TEXT_SCHEMA, EXPRESSION_SCHEMA]}),
        "description": "The nodes; without it all (*). self: the same node. null: the stages.",
    }
    policy = {**_POLICY.schema, "description": "any: one of the nodes is enough.", "default": "all"}
    item = {
        "type": "object",
        "properties": {"name": name, "role": role, "policy": policy},
        "required": ["name"],
        "additionalProperties": False,
    }
    return Shape(_read_cross, one_or_more({"anyOf": [item, TEXT_SCHEMA, EXPRESSION_SCHEMA]}))


def read_computed(task: PlanTask, computed: ComputedDependencies, result: Any) -> tuple[Any, ...]:
    """The names or the dependencies that the expression of a task has given, as plain data. Raises InputError PLAN-018."""
    problems = Problems()
    field = Field(make_node(result, task.at), "the result", problems)
    is_local = computed.field in ("requires", "required_for")
    found = _read_names(field) if is_local else _read_cross(field)
    if problems.errors:
        raise issues.BAD_RESULT.error(task=task.id, field=computed.field, problem=problems.errors[0].text)
    rename = scope_name if is_local else scope_dependency
    return tuple(rename(item, computed.scope) for item in found.given)


def _read_names(field: Field) -> Dependencies:
    if (whole := read_expression(field)) is not None:
        return Dependencies(expressions=(whole,))
    given, expressions = _split(field)
    found = unique_texts(given)
    for name, item in found.items():
        item.problems.check_pattern(name, item.at)
    return Dependencies(tuple(found), tuple(f"[{expression}]" for expression in expressions))


def _read_cross(field: Field) -> Dependencies:
    if (whole := read_expression(field)) is not None:
        return Dependencies(expressions=(whole,))
    given, expressions = _split(field)
    found: dict[CrossDependency, None] = {}
    for item in given:
        if (expression := _find_partial_expression(item)) is not None:
            expressions.append(expression)
        elif (dependency := _read_dependency(item)) is not None:
            if dependency in found:
                item.warn(issues.GIVEN_TWICE, what=f"{dependency.name} ({item.label})", counts="it counts once")
            found[dependency] = None
    return Dependencies(tuple(found), tuple(expressions))


def _split(field: Field) -> tuple[list[Field], list[str]]:
    """The items that are written, and the expressions among them."""
    items = field.items()
    if len(items) > MAX_DEPENDENCIES:
        field.refuse(f"a list of at most {MAX_DEPENDENCIES}")
        return [], []
    given: list[Field] = []
    expressions: list[str] = []
    for item in items:
        if (expression := read_expression(item)) is not None:
            expressions.append(expression)
        else:
            given.append(item)
    return given, expressions


def _read_dependency(item: Field) -> CrossDependency | None:
    """A mapping with a name, or the name alone."""
    if item.node.is_text:
        return _make_dependency(item)
    if not item.require_mapping("a mapping with name and role", "write `- name: TASK`"):
        return None
    item.warn_unknown(_KEYS)
    if (named := item.get("name")) is None:
        item.error(issues.MISSING_FIELD, what=item.label, field="name", advice="name the task")
        return None
    policy = item.get("policy")
    read_policy: Any = "all" if policy is None else _POLICY.read(policy)
    return _make_dependency(named, _read_role(item), read_policy) if read_policy is not None else None


def _make_dependency(
    named: Field, role: tuple[str, ...] | None = ("*",), policy: Literal["all", "any"] = "all"
) -> CrossDependency | None:
    name = _NAME.read(named)
    if name is None:
        return None
    named.problems.check_pattern(name, named.at)
    return CrossDependency(name, role, policy)


def _read_role(item: Field) -> tuple[str, ...] | None:
    """The roles. Without the key all nodes are meant; an explicit null means the node of the stages."""
    if "role" not in (item.node.entries or {}):
        return ("*",)
    role = item.get("role")
    return None if role is None else tuple(_ROLE.read(role))


def _find_partial_expression(item: Field) -> str | None:
    """One expression for a mapping that has expressions for its values; None if it has none."""
    fields = dict(item.entries())
    parts = {key: read_expression(fields[key]) for key in _KEYS if key in fields}
    if not any(part is not None for part in parts.values()):
        return None
    written = [f"{key} => {f'({part})' if part is not None else _quote(fields[key])}" for key, part in parts.items()]
    return "[{" + ", ".join(written) + "}]"


def _quote(field: Field) -> str:
    """A text, a list of texts or nothing, as YAQL writes it."""
    if field.node.items is not None:
        return f"[{', '.join(map(_quote, field.items()))}]"
    if field.node.is_null:
        return "null"
    text_of_it = field.node.text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text_of_it}'"
