"""Reads types that a file registers as one hash: `Puppet::ResourceApi.register_type(name: …, attributes: { … })`."""

from typing import Any

from precast.lang.ruby.declarations.outline import Statement
from precast.lang.ruby.declarations.ruby_file import FindFile, RubyFile
from precast.lang.ruby.declarations.static_evaluation import StaticEvaluator
from precast.lang.ruby.declarations.static_methods import NotStatic, static_text
from precast.lang.ruby.declarations.title_patterns import Patterns, python_text
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.values import Pattern, Symbol
from precast.types.declaration import AutoRelation, ManagedType, TitlePattern

_PARAMETERS = frozenset(("parameter", "namevar"))


def registered_type(file: RubyFile, statement: Statement, find_file: FindFile) -> ManagedType | None:
    """Return the type that a statement registers, None if it registers none."""
    head = file.tokens[statement.start : statement.start + 8]
    if not any(token.kind == "name" and token.value == "register_type" for token in head):
        return None
    tree = file.tree(statement.start, statement.end)
    while isinstance(tree, nodes.Sequence) and len(tree.statements) == 1:
        tree = tree.statements[0]
    if not isinstance(tree, nodes.Call) or not tree.args or not isinstance(tree.args[0], nodes.HashLiteral):
        return None
    return _type(_Hash(tree.args[0], StaticEvaluator({}, file.caller(find_file))))


class _Hash:
    """A hash whose values are read separately, so that an unreadable value hides only itself."""

    def __init__(self, tree: nodes.HashLiteral, evaluator: StaticEvaluator) -> None:
        self._evaluator = evaluator
        self.trees = {str(self._plain(key)): value for key, value in tree.pairs}

    def _plain(self, tree: nodes.Node) -> Any:
        try:
            value = self._evaluator.value(tree)
        except (NotStatic, RecursionError):
            return None
        return static_text(value) if isinstance(value, Symbol) else value

    def value(self, name: str) -> Any:
        return self._plain(self.trees[name]) if name in self.trees else None

    def inner(self, name: str) -> "_Hash | None":
        tree = self.trees.get(name)
        return _Hash(tree, self._evaluator) if isinstance(tree, nodes.HashLiteral) else None


def _type(data: _Hash) -> ManagedType | None:
    name = data.value("name")
    attributes = data.inner("attributes")
    if not isinstance(name, str):
        return None
    properties: dict[str, str] = {}
    parameters: dict[str, str] = {}
    namevars: list[str] = []
    defaults: dict[str, object] = {}
    for attribute in attributes.trees if attributes is not None else ():
        options = attributes.inner(attribute) if attributes is not None else None
        behaviour = options.value("behaviour") or options.value("behavior") if options is not None else None
        text = options.value("desc") if options is not None else None
        (parameters if behaviour in _PARAMETERS else properties)[attribute] = " ".join(str(text or "").split())
        if behaviour == "namevar":
            namevars.append(attribute)
        default = options.value("default") if options is not None else None
        if default is not None:
            defaults[attribute] = default
    summary = " ".join(str(data.value("desc") or data.value("docs") or "").split()).partition(". ")[0]
    return ManagedType(
        name.lower(),
        summary or "A type that a module brings.",
        properties,
        parameters,
        namevars=tuple(namevars) or ("name",),
        title_patterns=_patterns(data),
        relations=_relations(data),
        defaults=defaults,
        is_open=attributes is None,
    )


def _patterns(data: _Hash) -> Patterns:
    """Return the title patterns; the groups of each have the names of the attributes that they set."""
    patterns: list[TitlePattern] = []
    for entry in data.value("title_patterns") or ():
        pattern = entry.get(Symbol("pattern")) if isinstance(entry, dict) else None
        if isinstance(pattern, Pattern):
            patterns.append(TitlePattern(python_text(pattern), tuple(pattern.compiled.groupindex)))
    return tuple(patterns)


def _relations(data: _Hash) -> tuple[AutoRelation, ...]:
    """Return the relations in `autorequire: { type: '$attribute' }` and the like; a value without `$` is a title."""
    relations: list[AutoRelation] = []
    for word, is_before in (
        ("autorequire", False),
        ("autosubscribe", False),
        ("autobefore", True),
        ("autonotify", True),
    ):
        targets = data.inner(word)
        for type_name in targets.trees if targets is not None else ():
            value = targets.value(type_name) if targets is not None else None
            names = [name for name in (value if isinstance(value, list) else [value]) if isinstance(name, str)]
            relations.append(
                AutoRelation(
                    type_name,
                    tuple(name[1:] for name in names if name.startswith("$")),
                    kind="before" if is_before else "require",
                    titles=tuple(name for name in names if not name.startswith("$")),
                )
            )
    return tuple(relations)
