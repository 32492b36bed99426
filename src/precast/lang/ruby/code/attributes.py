"""The properties and parameters of a type as its file declares them, with what each block says of its own."""

from collections.abc import Iterator, Mapping
from typing import Any

from precast.lang.ruby.code.code import Code, Library
from precast.lang.ruby.code.constants import Constants
from precast.lang.ruby.code.methods import NotConstant, ruby_text
from precast.lang.ruby.code.outline import Block
from precast.lang.ruby.erb.values import Pattern, Symbol
from precast.lang.ruby.syntax import nodes


def values_of(code: Code, tree: nodes.Node, names: Mapping[str, Any], library: Library) -> Iterator[Any]:
    """The value of a tree, or nothing if the text does not say."""
    try:
        yield Constants(names, code.function(library)).value(tree)
    except (NotConstant, RecursionError):
        return


def texts_of(code: Code, tree: nodes.Node, names: Mapping[str, Any], library: Library) -> Iterator[str]:
    """The same where the value is a name: a string, a symbol."""
    for value in values_of(code, tree, names, library):
        if isinstance(value, str | Symbol):
            yield ruby_text(value)


def single(tree: nodes.Node | None) -> nodes.Node | None:
    """The one statement in a tree, without the condition after it."""
    while True:
        if isinstance(tree, nodes.Sequence) and len(tree.statements) == 1:
            tree = tree.statements[0]
        elif isinstance(tree, nodes.If) and tree.otherwise is None:
            tree = tree.then
        else:
            return tree


def first_words(text: Any) -> str:
    """The first sentence of a description."""
    paragraph = str(text).strip().split("\n\n")[0] if isinstance(text, str) else ""
    return " ".join(paragraph.split()).partition(". ")[0].rstrip(".")


class Attributes:
    """What is known so far, in the order it was declared."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self.properties: dict[str, str] = {}
        self.parameters: dict[str, str] = {}
        self.defaults: dict[str, object] = {}
        self.words: dict[str, tuple[str, ...]] = {}
        self._namevars: dict[str, None] = {}

    @property
    def keys(self) -> tuple[str, ...]:
        """What names a resource; a parameter called name always does."""
        return tuple(name for name in self.parameters if name in self._namevars or name == "name")

    def add(
        self, code: Code, call: nodes.Call, block: Block | None, names: Mapping[str, Any], *, is_property: bool
    ) -> bool:
        """Takes in `newparam(…)` or `newproperty(…)`; False if the text does not say which name it has."""
        found = list(texts_of(code, call.args[0], names, self._library)) if call.args else []
        if not found:
            return False
        name = found[0]
        (self.properties if is_property else self.parameters)[name] = ""
        options = call.args[1] if len(call.args) > 1 else None
        for key, value in options.pairs if isinstance(options, nodes.Mapped) else ():
            is_named = "namevar" in texts_of(code, key, names, self._library)
            if is_named and list(values_of(code, value, names, self._library)) == [True]:
                self._namevars[name] = None
        self._details(code, name, block, names)
        return True

    def add_ensure(self, code: Code, block: Block | None, names: Mapping[str, Any]) -> None:
        self.properties.setdefault("ensure", "whether it exists")
        self._details(code, "ensure", block, names)

    def _details(self, code: Code, name: str, block: Block | None, names: Mapping[str, Any]) -> None:
        """What the block of an attribute says of it."""
        for statement in block.statements if block is not None else ():
            end = statement.blocks[0].start if statement.blocks else statement.end
            tree = single(code.tree(statement.start, end))
            word = tree.name if isinstance(tree, nodes.Call | nodes.Name) else ""
            args = tree.args if isinstance(tree, nodes.Call) else ()
            if word == "isnamevar":
                self._namevars[name] = None
            elif args and word in ("desc", "defaultto", "newvalues", "newvalue"):
                values = [value for each in args for value in values_of(code, each, names, self._library)]
                self._said(name, word, values)

    def _said(self, name: str, word: str, values: list[Any]) -> None:
        if word == "desc" and values:
            for attributes in (self.properties, self.parameters):
                if name in attributes:
                    attributes[name] = first_words(values[0])
        elif word == "defaultto" and values:
            value = values[0].name if isinstance(values[0], Symbol) else values[0]
            if isinstance(value, str | int | float | bool) and not isinstance(value, Pattern):
                self.defaults[name] = value
        elif word in ("newvalues", "newvalue"):
            words = tuple(ruby_text(each) for each in values if isinstance(each, str | Symbol | bool | int))
            self.words[name] = (*self.words.get(name, ()), *words)
