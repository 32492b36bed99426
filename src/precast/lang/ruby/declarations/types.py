"""Reads the managed type that a Ruby file declares: namevars, attributes, defaults, title patterns, automatic relations.

The reader follows declarations in loops over constant lists and in methods that the type takes from a module of its own. If code that
could declare more cannot be read, the type is open: it accepts every attribute, since a node should refuse an attribute rather than
the compile one that Puppet accepts.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from precast.lang.ruby.declarations import resource_api, title_patterns
from precast.lang.ruby.declarations.attributes import Attributes, find_hole_values, first_words, single, texts_of
from precast.lang.ruby.declarations.auto_relations import auto_relation
from precast.lang.ruby.declarations.outline import Block, Statement
from precast.lang.ruby.declarations.ruby_file import FindFile, RubyFile, find_constant_file
from precast.lang.ruby.syntax import nodes
from precast.types.declaration import AutoRelation, ManagedType, TitlePattern

_LOOPS: Final = frozenset(("each", "each_pair", "each_with_index", "map"))
_RELATIONS: Final = {
    "autorequire": "require", "autosubscribe": "require", "autobefore": "before", "autonotify": "before",
}  # fmt: skip
# Calls in the body of a type that declare no attribute.
_OTHER_CALLS: Final = frozenset((
    "desc", "doc", "feature", "validate", "require", "include", "private", "public", "protected", "attr_accessor",
    "attr_reader", "attr_writer", "apply_to_all", "apply_to_host", "apply_to_device", "raise", "fail", "warning",
    "debug", "warn", "puts", "mk_resource_methods", "alias_method", "define_method", "provide", "p", "info",
    "newmetaparam", "ensure", "require_relative", "freeze", "binding", "private_constant", "fail_fast", "load", "`",
))  # fmt: skip
# A declaration beyond these limits, by recursion or nested loops, is not read to its end.
_MAX_DEPTH: Final = 30
_MAX_STEPS: Final = 50_000


class NotThisType(Exception):
    """The file declares types, but not the one that was asked for."""


def read_type(name: str, file: RubyFile | None, find_file: FindFile) -> ManagedType:
    """Return the type that a file declares; it is open where the file cannot be read. Raises NotThisType."""
    if file is None:
        return _unreadable_type(name)
    has_others = False
    for statement in file.all_statements():
        registered = resource_api.registered_type(file, statement, find_file)
        if registered is not None:
            if registered.name == name:
                return registered
            has_others = True
        declared_name = _declared_name(file, statement)
        if declared_name == name:
            reader = _TypeReader(name, file, find_file)
            reader.read(file, statement.blocks[0].statements if statement.blocks else (), reader.constants())
            reader.read_reopened()
            return reader.managed_type()
        has_others = has_others or declared_name is not None
    if has_others:
        raise NotThisType
    return _unreadable_type(name)


def _unreadable_type(name: str) -> ManagedType:
    return ManagedType(name, "A type that a module brings; its declaration cannot be read.", {}, {}, is_open=True)


def _declared_name(file: RubyFile, statement: Statement) -> str | None:
    """Return the name in `newtype(:name)`, None for other statements."""
    end = statement.blocks[0].start if statement.blocks else statement.end
    for at in range(statement.start, end):
        token = file.tokens[at]
        if token.kind == "name" and token.value == "newtype":
            following = [following for following in file.tokens[at + 1 : at + 3] if following.kind != "("]
            value = following[0].value if following else None
            return value.lower() if isinstance(value, str) else None
    return None


class _TypeReader:
    """Collects the declarations of one type."""

    def __init__(self, name: str, file: RubyFile, find_file: FindFile) -> None:
        self._name, self._file, self._find_file = name, file, find_file
        self._attributes = Attributes(find_file)
        self._relations: list[AutoRelation] = []
        self._mixins: list[str] = []
        self._summary = ""
        self._is_isomorphic = True
        self._is_open = False
        self._depth = self._steps = 0
        self._patterns: title_patterns.Patterns = ()
        self._computes_titles = False

    def managed_type(self) -> ManagedType:
        attributes, keys = self._attributes, self._attributes.keys
        return ManagedType(
            self._name,
            self._summary or "A type that a module brings.",
            attributes.properties,
            attributes.parameters,
            namevars=keys or ("name",),
            is_isomorphic=self._is_isomorphic,
            # Without a namevar a title cannot identify a resource, so that no title matches.
            title_patterns=self._patterns if keys or self._is_open else (TitlePattern(r"(?!)", ()),),
            computes_titles=self._computes_titles,
            relations=tuple(self._relations),
            defaults=attributes.defaults,
            words=attributes.words,
            is_open=self._is_open,
        )

    def constants(self) -> dict[str, Any]:
        """Return the constants that the file sets at its top or in the modules around the type."""
        names: dict[str, Any] = {}
        for statement in self._file.all_statements():
            self._read_constant(self._file, statement, names)
        return names

    def _read_constant(self, file: RubyFile, statement: Statement, names: dict[str, Any]) -> bool:
        """Return whether a statement sets a constant; its value is added to `names` if the text determines it."""
        first, sign = file.tokens[statement.start : statement.start + 2]
        if first.kind != "constant" or sign.kind != "=":
            return False
        tree = file.tree(statement.start + 2, statement.end)
        for value in () if tree is None else self._values(file, tree, names):
            names[str(first.value)] = value
        return True

    def read_reopened(self) -> None:
        """Read what the file adds to the type later: `Puppet::Type.type(:name).newparam(…)`."""
        for statement in self._file.statements:
            head = self._file.tokens[statement.start : statement.end]
            words = [token.value for token in head[:12]]
            if "type" in words and self._name in words and ("newparam" in words or "newproperty" in words):
                self._statement(self._file, statement, {})

    def read(self, file: RubyFile, statements: tuple[Statement, ...], names: Mapping[str, Any]) -> None:
        known = dict(names)
        self._depth += 1
        for statement in statements if self._depth <= _MAX_DEPTH else ():
            self._steps += 1
            if self._steps > _MAX_STEPS:
                break
            self._statement(file, statement, known)
        self._is_open = self._is_open or self._depth > _MAX_DEPTH or self._steps > _MAX_STEPS
        self._depth -= 1

    def _statement(self, file: RubyFile, statement: Statement, names: dict[str, Any]) -> None:
        first = file.tokens[statement.start]
        if first.kind == "def":
            self._definition(file, statement)
        elif first.kind in ("if", "unless", "begin", "case"):
            for block in statement.blocks:
                self.read(file, block.statements, names)
        elif first.kind == "ivar" and file.tokens[statement.start + 1].kind == "=":
            self._instance_variable(file, statement)
        elif first.kind not in ("class", "module", "while", "until", "for") and not self._read_constant(
            file, statement, names
        ):
            self._expression(file, statement, names)

    def _definition(self, file: RubyFile, statement: Statement) -> None:
        name = file.defined_name(statement)
        if name == "title_patterns":
            self._patterns = title_patterns.patterns(file, self._find_file)
            self._computes_titles = not self._patterns or any("" in each.attributes for each in self._patterns)
        elif name == "isomorphic?":
            words = {token.kind for token in file.tokens[statement.start : statement.end]}
            self._is_isomorphic = "false" not in words

    def _instance_variable(self, file: RubyFile, statement: Statement) -> None:
        name, value = file.tokens[statement.start].value, file.tokens[statement.start + 2]
        if name == "isomorphic":
            self._is_isomorphic = value.kind != "false"
        elif name == "doc" and value.kind == "string":
            self._summary = first_words(value.value)

    def _expression(self, file: RubyFile, statement: Statement, names: dict[str, Any]) -> None:
        block = statement.blocks[0] if statement.blocks else None
        head_end = block.start if block is not None else statement.end
        before = file.tokens[head_end - 1]
        if block is not None and block.word in ("do", "{") and before.kind == "name" and before.value in _LOOPS:
            self._loop(file, statement.start, head_end - 2, block, names)
            return
        tree = single(file.tree(statement.start, head_end))
        if isinstance(tree, nodes.Assign):
            self._assign(file, tree, names)
        elif isinstance(tree, nodes.Call):
            self._call(file, tree.name, tree, block, names)
        elif isinstance(tree, nodes.Name):
            self._call(file, tree.name, nodes.Call(tree.span, None, tree.name), block, names)
        elif tree is None and any(
            token.value in ("newparam", "newproperty") for token in file.tokens[statement.start : head_end]
        ):
            self._is_open = True

    def _assign(self, file: RubyFile, tree: nodes.Assign, names: dict[str, Any]) -> None:
        if isinstance(tree.target, nodes.Name) and not tree.operator:
            names.pop(tree.target.name, None)
            for value in self._values(file, tree.value, names):
                names[tree.target.name] = value

    def _values(self, file: RubyFile, tree: nodes.Node, names: Mapping[str, Any]) -> Iterator[Any]:
        return find_hole_values(file, tree, names, self._find_file)

    def _loop(self, file: RubyFile, start: int, end: int, block: Block, names: dict[str, Any]) -> None:
        tree = file.tree(start, end)
        collections = [] if tree is None else list(self._values(file, tree, names))
        if not collections or not isinstance(collections[0], list | dict):
            self._is_open = self._is_open or _has_declaration(file, block)
            return
        items = collections[0]
        items = [list(pair) for pair in items.items()] if isinstance(items, dict) else items
        for item in items:
            values = item if isinstance(item, list) and len(block.names) > 1 else [item]
            self.read(file, block.statements, {**names, **dict(zip(block.names, values, strict=False))})

    def _call(self, file: RubyFile, name: str, call: nodes.Call, block: Block | None, names: dict[str, Any]) -> None:
        if name in ("newparam", "newproperty"):
            self._declare(file, call, block, names, name)
        elif name == "ensurable":
            self._attributes.add_ensure(file, block, names)
        elif name in _RELATIONS and call.args and block is not None:
            for type_name in texts_of(file, call.args[0], names, self._find_file):
                relation = auto_relation(file, type_name, _RELATIONS[name], block, names)
                self._relations += [relation] if relation is not None else []
        elif name in ("extend", "include") and call.args and isinstance(call.args[0], nodes.Const):
            self._mixins.append(call.args[0].name)
        elif name == "desc":
            for value in self._values(file, call.args[0], names) if call.args else ():
                self._summary = first_words(value)
        elif name in ("class_eval", "instance_eval") and block is not None:
            self.read(file, block.statements, names)
        elif call.receiver is None and name not in _OTHER_CALLS:
            self._own_method(file, name, call, block, names)

    def _declare(self, file: RubyFile, call: nodes.Call, block: Block | None, names: dict[str, Any], word: str) -> None:
        if not self._attributes.add(file, call, block, names, is_property=word == "newproperty"):
            self._is_open = True

    def _own_method(
        self, file: RubyFile, name: str, call: nodes.Call, block: Block | None, names: dict[str, Any]
    ) -> None:
        """Read a call of a method of the type, from its file or a mixin, which declares attributes or one named by its argument."""
        for defining_file in (file, *(find_constant_file(constant, self._find_file) for constant in self._mixins)):
            statement = defining_file.method(name) if defining_file is not None else None
            if defining_file is None or statement is None or not statement.blocks:
                continue
            if not call.args:
                self.read(defining_file, statement.blocks[0].statements, {})
            elif (word := _wrapped_declaration(defining_file, statement)) is not None:
                self._declare(file, call, block, names, word)
            return
        self._is_open = True


def _wrapped_declaration(file: RubyFile, statement: Statement) -> str | None:
    """Return `newparam` or `newproperty` if the method calls it with the name that is its argument."""
    tokens = file.tokens[statement.start : statement.end]
    for at, token in enumerate(tokens[:-2]):
        if token.value in ("newparam", "newproperty"):
            following = tokens[at + 2] if tokens[at + 1].kind == "(" else tokens[at + 1]
            if following.kind == "name":
                return str(token.value)
    return None


def _has_declaration(file: RubyFile, block: Block) -> bool:
    return any(token.value in ("newparam", "newproperty") for token in file.tokens[block.body : block.end])
