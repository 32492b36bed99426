"""Reads what a Ruby file declares as a managed type: names, namevars, attributes, defaults, forms of titles, what it follows.

Nothing is run. Declarations in loops over constant lists, and in methods that a type takes from a module of its own, are followed.
Where something that could declare more cannot be read, the type is open: it takes every attribute, as it is better to let a node
refuse one than to refuse here what Puppet takes.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from precast.lang.ruby.code import api_types, titles
from precast.lang.ruby.code.attributes import Attributes, first_words, single, texts_of, values_of
from precast.lang.ruby.code.code import Code, Library, file_of
from precast.lang.ruby.code.outline import Block, Statement
from precast.lang.ruby.code.relations import auto_relation
from precast.lang.ruby.syntax import nodes
from precast.types.declaration import AutoRelation, ManagedType, TitlePattern

_LOOPS: Final = frozenset(("each", "each_pair", "each_with_index", "map"))
_RELATIONS: Final = {
    "autorequire": "require", "autosubscribe": "require", "autobefore": "before", "autonotify": "before",
}  # fmt: skip
# What may stand in a type's body and declares no attribute.
_HARMLESS: Final = frozenset(
    (
        *(
            "desc",
            "doc",
            "feature",
            "validate",
            "require",
            "include",
            "private",
            "public",
            "protected",
            "attr_accessor",
        ),
        *("attr_reader", "attr_writer", "apply_to_all", "apply_to_host", "apply_to_device", "raise", "fail", "warning"),
        *("debug", "warn", "puts", "mk_resource_methods", "alias_method", "define_method", "provide", "p", "info"),
        *("newmetaparam", "ensure", "require_relative", "freeze", "binding", "private_constant", "fail_fast", "load"),
    )
)


# A declaration that goes on beyond these, by calls of itself or loops in loops, is not read to its end.
_DEEPEST: Final = 30
_MOST_STEPS: Final = 50_000


class NotThisType(Exception):
    """The file declares types, and this is none of them."""


def read_type(name: str, code: Code | None, library: Library) -> ManagedType:
    """The type that a file declares; open where the file cannot be read. Raises NotThisType."""
    if code is None:
        return _unread(name)
    others = False
    for statement in code.all_statements():
        found = api_types.registered(code, statement, library)
        if found is not None:
            if found.name == name:
                return found
            others = True
        declared = _declared(code, statement)
        if declared == name:
            reader = _TypeReader(name, code, library)
            reader.read(code, statement.blocks[0].statements if statement.blocks else (), reader.constants())
            reader.reopen()
            return reader.made()
        others = others or declared is not None
    if others:
        raise NotThisType
    return _unread(name)


def _unread(name: str) -> ManagedType:
    return ManagedType(name, "A type that a module brings; its declaration cannot be read.", {}, {}, is_open=True)


def _declared(code: Code, statement: Statement) -> str | None:
    """The name in `newtype(:name)`, if that is what the statement is."""
    end = statement.blocks[0].start if statement.blocks else statement.end
    for at in range(statement.start, end):
        token = code.tokens[at]
        if token.sort == "name" and token.value == "newtype":
            following = [each for each in code.tokens[at + 1 : at + 3] if each.sort != "("]
            value = following[0].value if following else None
            return value.lower() if isinstance(value, str) else None
    return None


class _TypeReader:
    """What is known of the type so far."""

    def __init__(self, name: str, code: Code, library: Library) -> None:
        self._name, self._code, self._library = name, code, library
        self._attributes = Attributes(library)
        self._relations: list[AutoRelation] = []
        self._mixins: list[str] = []
        self._summary = ""
        self._is_isomorphic = True
        self._is_open = False
        self._depth = self._steps = 0
        self._patterns: titles.Patterns = ()

    def made(self) -> ManagedType:
        attributes, keys = self._attributes, self._attributes.keys
        return ManagedType(
            self._name,
            self._summary or "A type that a module brings.",
            attributes.properties,
            attributes.parameters,
            namevars=keys or ("name",),
            is_isomorphic=self._is_isomorphic,
            # Nothing names a resource of a type without any parameter that does: no title fits.
            title_patterns=self._patterns if keys or self._is_open else (TitlePattern(r"(?!)", ()),),
            relations=tuple(self._relations),
            defaults=attributes.defaults,
            words=attributes.words,
            is_open=self._is_open,
        )

    def constants(self) -> dict[str, Any]:
        """What the file sets before the type, at its top or in modules around it."""
        names: dict[str, Any] = {}
        for statement in self._code.all_statements():
            self._constant(self._code, statement, names)
        return names

    def _constant(self, code: Code, statement: Statement, names: dict[str, Any]) -> bool:
        """Whether a statement sets a constant, which is then known if its text says what it is."""
        first, sign = code.tokens[statement.start : statement.start + 2]
        if first.sort != "constant" or sign.sort != "=":
            return False
        tree = code.tree(statement.start + 2, statement.end)
        for value in () if tree is None else self._values(code, tree, names):
            names[str(first.value)] = value
        return True

    def reopen(self) -> None:
        """What the file adds afterwards: `Puppet::Type.type(:name).newparam(…)`."""
        for statement in self._code.statements:
            head = self._code.tokens[statement.start : statement.end]
            words = [token.value for token in head[:12]]
            if "type" in words and self._name in words and ("newparam" in words or "newproperty" in words):
                self._statement(self._code, statement, {})

    def read(self, code: Code, statements: tuple[Statement, ...], names: Mapping[str, Any]) -> None:
        known = dict(names)
        self._depth += 1
        for statement in statements if self._depth <= _DEEPEST else ():
            self._steps += 1
            if self._steps > _MOST_STEPS:
                break
            self._statement(code, statement, known)
        self._is_open = self._is_open or self._depth > _DEEPEST or self._steps > _MOST_STEPS
        self._depth -= 1

    def _statement(self, code: Code, statement: Statement, names: dict[str, Any]) -> None:
        first = code.tokens[statement.start]
        if first.sort == "def":
            self._definition(code, statement)
        elif first.sort in ("if", "unless", "begin", "case"):
            for block in statement.blocks:
                self.read(code, block.statements, names)
        elif first.sort == "ivar" and code.tokens[statement.start + 1].sort == "=":
            self._instance_variable(code, statement)
        elif first.sort not in ("class", "module", "while", "until", "for") and not self._constant(
            code, statement, names
        ):
            self._expression(code, statement, names)

    def _definition(self, code: Code, statement: Statement) -> None:
        name = code.defined_name(statement)
        if name == "title_patterns":
            self._patterns = titles.patterns(code, self._library)
        elif name == "isomorphic?":
            words = {token.sort for token in code.tokens[statement.start : statement.end]}
            self._is_isomorphic = "false" not in words

    def _instance_variable(self, code: Code, statement: Statement) -> None:
        name, value = code.tokens[statement.start].value, code.tokens[statement.start + 2]
        if name == "isomorphic":
            self._is_isomorphic = value.sort != "false"
        elif name == "doc" and value.sort == "string":
            self._summary = first_words(value.value)

    def _expression(self, code: Code, statement: Statement, names: dict[str, Any]) -> None:
        block = statement.blocks[0] if statement.blocks else None
        head_end = block.start if block is not None else statement.end
        before = code.tokens[head_end - 1]
        if block is not None and block.word in ("do", "{") and before.sort == "name" and before.value in _LOOPS:
            self._loop(code, statement.start, head_end - 2, block, names)
            return
        tree = single(code.tree(statement.start, head_end))
        if isinstance(tree, nodes.Assign):
            self._assign(code, tree, names)
        elif isinstance(tree, nodes.Call):
            self._call(code, tree.name, tree, block, names)
        elif isinstance(tree, nodes.Name):
            self._call(code, tree.name, nodes.Call(tree.span, None, tree.name), block, names)
        elif tree is None and any(
            token.value in ("newparam", "newproperty") for token in code.tokens[statement.start : head_end]
        ):
            self._is_open = True

    def _assign(self, code: Code, tree: nodes.Assign, names: dict[str, Any]) -> None:
        if isinstance(tree.target, nodes.Name) and not tree.operator:
            names.pop(tree.target.name, None)
            for value in self._values(code, tree.value, names):
                names[tree.target.name] = value

    def _values(self, code: Code, tree: nodes.Node, names: Mapping[str, Any]) -> Iterator[Any]:
        return values_of(code, tree, names, self._library)

    def _loop(self, code: Code, start: int, end: int, block: Block, names: dict[str, Any]) -> None:
        tree = code.tree(start, end)
        found = [] if tree is None else list(self._values(code, tree, names))
        if not found or not isinstance(found[0], list | dict):
            self._is_open = self._is_open or _declares(code, block)
            return
        items = [list(pair) for pair in found[0].items()] if isinstance(found[0], dict) else found[0]
        for item in items:
            values = item if isinstance(item, list) and len(block.names) > 1 else [item]
            self.read(code, block.statements, {**names, **dict(zip(block.names, values, strict=False))})

    def _call(self, code: Code, name: str, call: nodes.Call, block: Block | None, names: dict[str, Any]) -> None:
        if name in ("newparam", "newproperty"):
            self._declare(code, call, block, names, name)
        elif name == "ensurable":
            self._attributes.add_ensure(code, block, names)
        elif name in _RELATIONS and call.args and block is not None:
            for type_name in texts_of(code, call.args[0], names, self._library):
                relation = auto_relation(code, type_name, _RELATIONS[name], block, names)
                self._relations += [relation] if relation is not None else []
        elif name in ("extend", "include") and call.args and isinstance(call.args[0], nodes.Const):
            self._mixins.append(call.args[0].name)
        elif name == "desc":
            for value in self._values(code, call.args[0], names) if call.args else ():
                self._summary = first_words(value)
        elif name in ("class_eval", "instance_eval") and block is not None:
            self.read(code, block.statements, names)
        elif call.receiver is None and name not in _HARMLESS:
            self._own_method(code, name, call, block, names)

    def _declare(self, code: Code, call: nodes.Call, block: Block | None, names: dict[str, Any], word: str) -> None:
        if not self._attributes.add(code, call, block, names, is_property=word == "newproperty"):
            self._is_open = True

    def _own_method(self, code: Code, name: str, call: nodes.Call, block: Block | None, names: dict[str, Any]) -> None:
        """A method of the type's own, from its file or a module that it takes in: it declares attributes, or one by its argument."""
        for place in (code, *(file_of(constant, self._library) for constant in self._mixins)):
            statement = place.method(name) if place is not None else None
            if place is None or statement is None or not statement.blocks:
                continue
            if not call.args:
                self.read(place, statement.blocks[0].statements, {})
            elif (word := _wrapped(place, statement)) is not None:
                self._declare(code, call, block, names, word)
            return
        self._is_open = True


def _wrapped(code: Code, statement: Statement) -> str | None:
    """What a method declares under a name it is given: `newparam(name, …)` in its body."""
    tokens = code.tokens[statement.start : statement.end]
    for at, token in enumerate(tokens[:-2]):
        if token.value in ("newparam", "newproperty"):
            following = tokens[at + 2] if tokens[at + 1].sort == "(" else tokens[at + 1]
            if following.sort == "name":
                return str(token.value)
    return None


def _declares(code: Code, block: Block) -> bool:
    return any(token.value in ("newparam", "newproperty") for token in code.tokens[block.body : block.end])
