"""Types that a file registers as one hash: `Puppet::ResourceApi.register_type(name: …, attributes: { … })`."""

from typing import Any

from precast.lang.ruby.code.code import Code, Library
from precast.lang.ruby.code.constants import Constants
from precast.lang.ruby.code.methods import NotConstant, ruby_text
from precast.lang.ruby.code.outline import Statement
from precast.lang.ruby.code.titles import Patterns, python_text
from precast.lang.ruby.erb.values import Pattern, Symbol
from precast.lang.ruby.syntax import nodes
from precast.types.declaration import AutoRelation, ManagedType, TitlePattern

_PARAMETERS = frozenset(("parameter", "namevar"))


def registered(code: Code, statement: Statement, library: Library) -> ManagedType | None:
    """The type that a statement registers; None if it registers none."""
    head = code.tokens[statement.start : statement.start + 8]
    if not any(token.sort == "name" and token.value == "register_type" for token in head):
        return None
    tree = code.tree(statement.start, statement.end)
    while isinstance(tree, nodes.Sequence) and len(tree.statements) == 1:
        tree = tree.statements[0]
    if not isinstance(tree, nodes.Call) or not tree.args or not isinstance(tree.args[0], nodes.Mapped):
        return None
    return _type(_Hash(tree.args[0], Constants({}, code.function(library))))


class _Hash:
    """A hash whose values are read one by one, so that one that cannot be read hides only itself."""

    def __init__(self, tree: nodes.Mapped, constants: Constants) -> None:
        self._constants = constants
        self.trees = {str(self._plain(key)): value for key, value in tree.pairs}

    def _plain(self, tree: nodes.Node) -> Any:
        try:
            value = self._constants.value(tree)
        except (NotConstant, RecursionError):
            return None
        return ruby_text(value) if isinstance(value, Symbol) else value

    def value(self, name: str) -> Any:
        return self._plain(self.trees[name]) if name in self.trees else None

    def inner(self, name: str) -> "_Hash | None":
        tree = self.trees.get(name)
        return _Hash(tree, self._constants) if isinstance(tree, nodes.Mapped) else None


def _type(data: _Hash) -> ManagedType | None:
    name = data.value("name")
    attributes = data.inner("attributes")
    if not isinstance(name, str):
        return None
    properties: dict[str, str] = {}
    parameters: dict[str, str] = {}
    namevars: list[str] = []
    defaults: dict[str, object] = {}
    for each in attributes.trees if attributes is not None else ():
        told = attributes.inner(each) if attributes is not None else None
        behaviour = told.value("behaviour") or told.value("behavior") if told is not None else None
        text = told.value("desc") if told is not None else None
        (parameters if behaviour in _PARAMETERS else properties)[each] = " ".join(str(text or "").split())
        if behaviour == "namevar":
            namevars.append(each)
        default = told.value("default") if told is not None else None
        if default is not None:
            defaults[each] = default
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
    """Each form names its groups after the attributes they set."""
    found: list[TitlePattern] = []
    for each in data.value("title_patterns") or ():
        form = each.get(Symbol("pattern")) if isinstance(each, dict) else None
        if isinstance(form, Pattern):
            found.append(TitlePattern(python_text(form), tuple(form.compiled.groupindex)))
    return tuple(found)


def _relations(data: _Hash) -> tuple[AutoRelation, ...]:
    """`autorequire: { type: '$attribute' }`, or a title as it is."""
    found: list[AutoRelation] = []
    for word, is_before in (
        ("autorequire", False),
        ("autosubscribe", False),
        ("autobefore", True),
        ("autonotify", True),
    ):
        told = data.inner(word)
        for type_name in told.trees if told is not None else ():
            value = told.value(type_name) if told is not None else None
            names = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
            found.append(
                AutoRelation(
                    type_name,
                    tuple(each[1:] for each in names if each.startswith("$")),
                    kind="before" if is_before else "require",
                    titles=tuple(each for each in names if not each.startswith("$")),
                )
            )
    return tuple(found)
