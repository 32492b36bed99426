"""Which facts a Ruby file of a module adds, read and not run."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from precast.lang.ruby.code.code import Code
from precast.lang.ruby.code.constants import Constants
from precast.lang.ruby.code.methods import NotConstant, ruby_text
from precast.lang.ruby.code.outline import Statement
from precast.lang.ruby.syntax import nodes

_LOOPS = frozenset(("each", "each_pair", "each_with_index", "map"))


class AddedFact(NamedTuple):
    """A fact by name; None if the name is worked out when the file runs."""

    name: str | None
    line: int


def added_facts(code: Code) -> list[AddedFact]:
    """Every `Facter.add`, in the order of the file, each name once; loops over constant lists are followed."""
    found: dict[AddedFact, None] = {}
    names: set[str | None] = set()
    for fact in _facts(code, code.statements, {}):
        if fact.name is None or fact.name not in names:
            found[fact] = None
            names.add(fact.name)
    return list(found)


def _facts(code: Code, statements: tuple[Statement, ...], given: Mapping[str, Any]) -> Iterator[AddedFact]:
    names = dict(given)
    for statement in statements:
        first, sign = code.tokens[statement.start : statement.start + 2]
        if first.sort in ("constant", "name") and sign.sort == "=":
            names.pop(str(first.value), None)
            names.update({str(first.value): value for value in _value(code, statement.start + 2, statement.end, names)})
        yield from _added(code, statement, names)
        for block in statement.blocks:
            end = block.start
            is_loop = code.tokens[end - 1].sort == "name" and code.tokens[end - 1].value in _LOOPS
            items = list(_value(code, statement.start, end - 2, names)) if is_loop else []
            if items and isinstance(items[0], list | dict):
                for item in [list(pair) for pair in items[0].items()] if isinstance(items[0], dict) else items[0]:
                    values = item if isinstance(item, list) and len(block.names) > 1 else [item]
                    inner = {**names, **dict(zip(block.names, values, strict=False))}
                    yield from _facts(code, block.statements, inner)
            else:
                yield from _facts(code, block.statements, {k: v for k, v in names.items() if k not in block.names})


def _value(code: Code, start: int, end: int, names: Mapping[str, Any]) -> Iterator[Any]:
    tree = code.tree(start, end)
    try:
        if tree is not None:
            yield Constants(names).value(tree)
    except (NotConstant, RecursionError):
        return


def _added(code: Code, statement: Statement, names: Mapping[str, Any]) -> Iterator[AddedFact]:
    end = statement.blocks[0].start if statement.blocks else statement.end
    for at in range(statement.start, end - 2):
        words = [token.value for token in code.tokens[at : at + 3]]
        if words != ["Facter", None, "add"]:
            continue
        line = code.source.position(code.tokens[at].span.start).line
        tree = code.tree(at, end)
        while isinstance(tree, nodes.Sequence) and tree.statements:
            tree = tree.statements[0]
        name = None
        if isinstance(tree, nodes.Call) and tree.args:
            try:
                name = ruby_text(Constants(names).value(tree.args[0])).lower()
            except (NotConstant, RecursionError):
                name = None
        yield AddedFact(name, line)
        return
