"""Reads the properties and parameters that a type declares, with the details in the block of each."""

from collections.abc import Iterator, Mapping
from typing import Any

from precast.lang.ruby.declarations.outline import Block
from precast.lang.ruby.declarations.ruby_file import FindFile, RubyFile
from precast.lang.ruby.declarations.static_evaluation import StaticEvaluator
from precast.lang.ruby.declarations.static_methods import NotStatic, static_text
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.values import Pattern, Symbol


def find_hole_values(file: RubyFile, tree: nodes.Node, names: Mapping[str, Any], find_file: FindFile) -> Iterator[Any]:
    """Yield the value of a tree, or nothing if the text alone does not determine it."""
    try:
        yield StaticEvaluator(names, file.caller(find_file)).value(tree)
    except (NotStatic, RecursionError):
        return


def texts_of(file: RubyFile, tree: nodes.Node, names: Mapping[str, Any], find_file: FindFile) -> Iterator[str]:
    """Yield the value of a tree if it is a name: a string or symbol."""
    for value in find_hole_values(file, tree, names, find_file):
        if isinstance(value, str | Symbol):
            yield static_text(value)


def single(tree: nodes.Node | None) -> nodes.Node | None:
    """Return the only statement of a tree, without the condition after it."""
    while True:
        if isinstance(tree, nodes.Sequence) and len(tree.statements) == 1:
            tree = tree.statements[0]
        elif isinstance(tree, nodes.If) and tree.otherwise is None:
            tree = tree.then
        else:
            return tree


def first_words(text: Any) -> str:
    """Return the first sentence of a description."""
    paragraph = str(text).strip().split("\n\n")[0] if isinstance(text, str) else ""
    return " ".join(paragraph.split()).partition(". ")[0].rstrip(".")


class Attributes:
    """The attributes read so far, in the order of their declarations."""

    def __init__(self, find_file: FindFile) -> None:
        self._find_file = find_file
        self.properties: dict[str, str] = {}
        self.parameters: dict[str, str] = {}
        self.defaults: dict[str, object] = {}
        self.words: dict[str, tuple[str, ...]] = {}
        self._namevars: dict[str, None] = {}

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the parameters that identify a resource; a parameter called `name` is always one of them."""
        return tuple(name for name in self.parameters if name in self._namevars or name == "name")

    def add(
        self, file: RubyFile, call: nodes.Call, block: Block | None, names: Mapping[str, Any], *, is_property: bool
    ) -> bool:
        """Add the attribute of `newparam(…)` or `newproperty(…)`; return False if the text does not determine its name."""
        texts = list(texts_of(file, call.args[0], names, self._find_file)) if call.args else []
        if not texts:
            return False
        name = texts[0]
        (self.properties if is_property else self.parameters)[name] = ""
        options = call.args[1] if len(call.args) > 1 else None
        for key, value in options.pairs if isinstance(options, nodes.HashLiteral) else ():
            is_named = "namevar" in texts_of(file, key, names, self._find_file)
            if is_named and list(find_hole_values(file, value, names, self._find_file)) == [True]:
                self._namevars[name] = None
        self._read_details(file, name, block, names)
        return True

    def add_ensure(self, file: RubyFile, block: Block | None, names: Mapping[str, Any]) -> None:
        self.properties.setdefault("ensure", "whether it exists")
        self._read_details(file, "ensure", block, names)

    def _read_details(self, file: RubyFile, name: str, block: Block | None, names: Mapping[str, Any]) -> None:
        """Read the statements in the block of an attribute."""
        for statement in block.statements if block is not None else ():
            end = statement.blocks[0].start if statement.blocks else statement.end
            tree = single(file.tree(statement.start, end))
            word = tree.name if isinstance(tree, nodes.Call | nodes.Name) else ""
            args = tree.args if isinstance(tree, nodes.Call) else ()
            if word == "isnamevar":
                self._namevars[name] = None
            elif args and word in ("desc", "defaultto", "newvalues", "newvalue"):
                values = [value for arg in args for value in find_hole_values(file, arg, names, self._find_file)]
                self._set_detail(name, word, values)

    def _set_detail(self, name: str, word: str, values: list[Any]) -> None:
        if word == "desc" and values:
            for attributes in (self.properties, self.parameters):
                if name in attributes:
                    attributes[name] = first_words(values[0])
        elif word == "defaultto" and values:
            value = values[0].name if isinstance(values[0], Symbol) else values[0]
            if isinstance(value, str | int | float | bool) and not isinstance(value, Pattern):
                self.defaults[name] = value
        elif word in ("newvalues", "newvalue"):
            words = tuple(static_text(value) for value in values if isinstance(value, str | Symbol | bool | int))
            self.words[name] = (*self.words.get(name, ()), *words)
