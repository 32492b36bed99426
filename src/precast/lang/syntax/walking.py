"""Goes through the nodes of a program, for questions that concern all of them alike."""

from collections.abc import Iterator
from typing import Any

from precast.lang.syntax import ast


def variables(node: Any) -> tuple[str, ...]:
    """The variables that appear in a part of a program."""
    return tuple(dict.fromkeys(each.name for each in walk(node) if isinstance(each, ast.Variable)))


def walk(node: Any) -> Iterator[ast.Node]:
    """All nodes of a part of a program."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(part)
        elif isinstance(part, ast.Node | ast.Program):
            if isinstance(part, ast.Node):
                yield part
            waiting.extend(getattr(part, field) for field in part.__struct_fields__ if field not in ("span", "source"))
