"""Reads which facts a Ruby file of a module adds."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from precast.lang.ruby.declarations.outline import Statement
from precast.lang.ruby.declarations.ruby_file import RubyFile
from precast.lang.ruby.declarations.static_evaluation import StaticEvaluator
from precast.lang.ruby.declarations.static_methods import NotStatic, static_text
from precast.lang.ruby.syntax import nodes

_LOOPS = frozenset(("each", "each_pair", "each_with_index", "map"))


class AddedFact(NamedTuple):
    """A fact that a file adds; the name is None if it is computed when the file runs."""

    name: str | None
    line: int


def added_facts(file: RubyFile) -> list[AddedFact]:
    """Return the fact of every `Facter.add` in the order of the file, each name once. Loops over constant lists are followed."""
    facts: dict[AddedFact, None] = {}
    names: set[str | None] = set()
    for fact in every_added_fact(file):
        if fact.name is None or fact.name not in names:
            facts[fact] = None
            names.add(fact.name)
    return list(facts)


def every_added_fact(file: RubyFile) -> list[AddedFact]:
    """Return the fact of every `Facter.add`: a fact that a file adds in several ways comes several times."""
    return list(_facts(file, file.statements, {}))


def _facts(file: RubyFile, statements: tuple[Statement, ...], given: Mapping[str, Any]) -> Iterator[AddedFact]:
    names = dict(given)
    for statement in statements:
        first, sign = file.tokens[statement.start : statement.start + 2]
        if first.kind in ("constant", "name") and sign.kind == "=":
            names.pop(str(first.value), None)
            names.update({str(first.value): value for value in _value(file, statement.start + 2, statement.end, names)})
        yield from _find_added(file, statement, names)
        for block in statement.blocks:
            end = block.start
            is_loop = file.tokens[end - 1].kind == "name" and file.tokens[end - 1].value in _LOOPS
            items = list(_value(file, statement.start, end - 2, names)) if is_loop else []
            if items and isinstance(items[0], list | dict):
                for item in [list(pair) for pair in items[0].items()] if isinstance(items[0], dict) else items[0]:
                    values = item if isinstance(item, list) and len(block.names) > 1 else [item]
                    inner = {**names, **dict(zip(block.names, values, strict=False))}
                    yield from _facts(file, block.statements, inner)
            else:
                yield from _facts(file, block.statements, {k: v for k, v in names.items() if k not in block.names})


def _value(file: RubyFile, start: int, end: int, names: Mapping[str, Any]) -> Iterator[Any]:
    tree = file.tree(start, end)
    try:
        if tree is not None:
            yield StaticEvaluator(names).value(tree)
    except (NotStatic, RecursionError):
        return


def _find_added(file: RubyFile, statement: Statement, names: Mapping[str, Any]) -> Iterator[AddedFact]:
    end = statement.blocks[0].start if statement.blocks else statement.end
    for at in range(statement.start, end - 2):
        words = [token.value for token in file.tokens[at : at + 3]]
        if words != ["Facter", None, "add"]:
            continue
        line = file.source.position(file.tokens[at].span.start).line
        tree = file.tree(at, end)
        while isinstance(tree, nodes.Sequence) and tree.statements:
            tree = tree.statements[0]
        name = None
        if isinstance(tree, nodes.Call) and tree.args:
            try:
                name = static_text(StaticEvaluator(names).value(tree.args[0])).lower()
            except (NotStatic, RecursionError):
                name = None
        yield AddedFact(name, line)
        return
