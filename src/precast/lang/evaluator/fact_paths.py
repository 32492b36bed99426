"""`dig` and `get` below a fact: `$facts.dig('os', 'name')` asks for that path, as `$facts['os']['name']` does.

Evaluated as any call, the first argument would be all facts, and the catalog would hang on each of them. Only the path is asked
for; where it leads nowhere, the longest part of it that is there.
"""

from collections.abc import Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import Span
from precast.lang.evaluator.literals import elements
from precast.lang.evaluator.translation import Code, Translator, place, unwrap
from precast.lang.functions import navigation
from precast.lang.inputs import ABSENT
from precast.lang.scope import MISSING, Scope
from precast.lang.syntax import ast

READERS = frozenset(("dig", "get"))
_ROOTS = ("facts", "trusted")


def shortened(to: Translator, function: str, arguments: Sequence[ast.Node], span: Span, ordinary: Code) -> Code:
    """The code of a call to `dig` or `get` without a block; any that is not below a fact runs as it would have."""
    found = _variable_path(to, arguments[0]) if arguments else None
    if found is None or any(isinstance(unwrap(node), ast.Splat) for node in arguments):
        return ordinary
    variable, start = found
    name, top_only = variable.removeprefix("::"), variable.startswith("::")
    rest, source = elements(to, arguments[1:]), to.source

    def code(scope: Scope) -> Any:
        if not scope.run.is_fact(scope, name, top_only):
            return ordinary(scope)
        try:
            steps, default = _steps(function, scope.run.concrete(rest(scope)))
            answer = MISSING if steps is None else _below(scope, name, start, steps)
        except PrecastError as error:
            raise place(error, source, span) from None
        if answer is MISSING:
            return ordinary(scope)
        return default if answer is None else answer

    return code


def _variable_path(to: Translator, node: ast.Node) -> tuple[str, tuple[Any, ...]] | None:
    """The variable that an argument starts with and the constant keys below it; None for any other argument."""
    keys: list[Any] = []
    node = unwrap(node)
    while isinstance(node, ast.Access):
        key = to.constant_of(to.code(node.keys[0])) if len(node.keys) == 1 else MISSING
        if not isinstance(key, str | int) or isinstance(key, bool):
            return None
        keys.append(key)
        node = unwrap(node.left)
    if not isinstance(node, ast.Variable) or "::" in node.name.removeprefix("::") or node.name.isdigit():
        return None
    return node.name, tuple(keys[::-1])


def _steps(function: str, given: tuple[Any, ...]) -> tuple[tuple[Any, ...] | None, Any]:
    """The path that the call names and its default; None where the call is to be refused as it stands."""
    if function == "dig":
        steps, default = given, None
    elif len(given) in (1, 2) and isinstance(given[0], str):
        steps, default = tuple(navigation.segments(given[0])), given[1] if len(given) == 2 else None
    else:
        return None, None
    is_path = bool(steps) and all(type(step) is str or type(step) is int for step in steps)
    return (steps if is_path else None), default


def _below(scope: Scope, name: str, start: tuple[Any, ...], steps: tuple[Any, ...]) -> Any:
    """What lies at the end of the path; MISSING where only the call itself can say what is wrong."""
    path = (*start, *steps)
    answer = scope.run.fact_value(name, path)
    if answer is not ABSENT:
        return answer
    for depth in range(len(path) - 1, max(len(start), 1) - 1, -1):
        kind = scope.run.fact_kind(name, path[:depth])
        if kind == "hash":  # which does not have the key: to know that is enough
            return None
        if kind != "absent":
            found = scope.run.fact_value(name, path[:depth], whole=True)
            return navigation.dig(found, *path[depth:]) if isinstance(found, tuple | dict) else MISSING
    return None if name in _ROOTS and len(start) < 2 else MISSING
