"""`dig` and `get` below a fact: `$facts.dig('os', 'name')` asks for that path, as `$facts['os']['name']` does.

An ordinary call would evaluate the first argument to all facts, and the catalog would depend on each of them. Here only the path is
asked for; if it does not exist, its longest existing part is.
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


def translate_fact_read(
    to: Translator, function: str, arguments: Sequence[ast.Node], span: Span, ordinary: Code
) -> Code:
    """The code of a call to `dig` or `get` without a block; a call that does not read below a fact runs as `ordinary`."""
    variable_path = _variable_path(to, arguments[0]) if arguments else None
    if variable_path is None or any(isinstance(unwrap(node), ast.Splat) for node in arguments):
        return ordinary
    variable, start = variable_path
    name, top_only = variable.removeprefix("::"), variable.startswith("::")
    rest, source = elements(to, arguments[1:]), to.source

    def code(scope: Scope) -> Any:
        if not scope.compilation.is_fact(scope, name, top_only):
            return ordinary(scope)
        try:
            steps, default = _steps(function, scope.compilation.concrete(rest(scope)))
            answer = MISSING if steps is None else _below(scope, name, start, steps)
        except PrecastError as error:
            raise place(error, source, span) from None
        if answer is MISSING:
            return ordinary(scope)
        return default if answer is None else answer

    return code


def _variable_path(to: Translator, node: ast.Node) -> tuple[str, tuple[Any, ...]] | None:
    """The variable at the start of an argument and the constant keys below it; None for any other argument."""
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
    """The path that the call names, and its default; the path is None if the ordinary call must report an error."""
    if function == "dig":
        steps, default = given, None
    elif len(given) in (1, 2) and isinstance(given[0], str):
        steps, default = tuple(navigation.segments(given[0])), given[1] if len(given) == 2 else None
    else:
        return None, None
    is_path = bool(steps) and all(type(step) is str or type(step) is int for step in steps)
    return (steps if is_path else None), default


def _below(scope: Scope, name: str, start: tuple[Any, ...], steps: tuple[Any, ...]) -> Any:
    """The value at the path; MISSING if only the ordinary call can say what is wrong."""
    path = (*start, *steps)
    answer = scope.compilation.fact_value(name, path)
    if answer is not ABSENT:
        return answer
    for depth in range(len(path) - 1, max(len(start), 1) - 1, -1):
        kind = scope.compilation.fact_kind(name, path[:depth])
        if kind == "hash":  # the hash lacks the key, so no further question is needed
            return None
        if kind != "absent":
            value = scope.compilation.fact_value(name, path[:depth], whole=True)
            return navigation.dig(value, *path[depth:]) if isinstance(value, tuple | dict) else MISSING
    return None if name in _ROOTS and len(start) < 2 else MISSING
