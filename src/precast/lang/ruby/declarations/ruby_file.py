"""A Ruby file, lexed and outlined once for its content, and the queries that readers make on it."""

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.ruby.declarations.file_lexer import lex_file
from precast.lang.ruby.declarations.outline import Statement, outline
from precast.lang.ruby.declarations.static_evaluation import CallMethod, StaticEvaluator
from precast.lang.ruby.declarations.static_methods import NotStatic
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.parser import parse_tokens
from precast.lang.ruby.syntax.tokens import Token

_MAX_BYTES = 512 * 1024
# Finds a file below `lib` of any module by its path there; None if no module has it.
FindFile = Callable[[str], "RubyFile | None"]


class RubyFile:
    """The tokens and the outline of a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = lex_file(source)
        self.statements = outline(self.tokens)

    def all_statements(self) -> Iterator[Statement]:
        """Yield every statement at any depth; those in a block follow the statement with the block."""
        yield from _walk(self.statements)

    def tree(self, start: int, end: int) -> nodes.Node | None:
        """Return the tree of a range of tokens, None if they are outside of the Ruby subset."""
        try:
            return parse_tokens(self.source, self.tokens[start:end])
        except (PrecastError, RecursionError):
            return None

    def defined_name(self, statement: Statement) -> str | None:
        """Return the name of the method that a statement defines, None if it defines none."""
        if self.tokens[statement.start].kind != "def":
            return None
        at = statement.start + (3 if self.tokens[statement.start + 2].kind == "." else 1)
        token = self.tokens[at]
        return str(token.value) if token.value is not None else token.kind

    def method(self, name: str) -> Statement | None:
        return next((statement for statement in self.all_statements() if self.defined_name(statement) == name), None)

    def call(self, name: str, args: tuple[Any, ...], find_file: FindFile) -> Any:
        """Return the value of a call of a method of the file. Raises NotStatic."""
        statement = self.method(name)
        if statement is None:
            raise NotStatic
        tokens = self.tokens[statement.start : statement.end]
        if tokens[2].kind == ".":  # `def self.name` is read as `def name`
            tokens = [tokens[0], *tokens[3:]]
        try:
            tree = parse_tokens(self.source, tokens)
        except (PrecastError, RecursionError):
            raise NotStatic from None
        while isinstance(tree, nodes.Sequence) and len(tree.statements) == 1:
            tree = tree.statements[0]
        if not isinstance(tree, nodes.MethodDefinition):
            raise NotStatic
        return StaticEvaluator({}, self.caller(find_file)).apply(tree.parameters, tree.body, args)

    def caller(self, find_file: FindFile) -> CallMethod:
        """Return the function by which code of this file calls methods: its own, and those of the constants it names."""

        def call(constant: str, name: str, args: tuple[Any, ...]) -> Any:
            if not constant:
                return self.call(name, args, find_file)
            defining_file = find_constant_file(constant, find_file)
            if defining_file is None:
                raise NotStatic
            return defining_file.call(name, args, find_file)

        return call


def _walk(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in statements:
        yield statement
        for block in statement.blocks:
            yield from _walk(block.statements)


def find_constant_file(constant: str, find_file: FindFile) -> RubyFile | None:
    """Return the file that defines a constant by convention: `PuppetX::Name::Part` in puppet_x/name/part.rb or puppet_x/name.rb."""
    parts = [re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", part).lower() for part in constant.split("::")]
    for count in range(len(parts), 0, -1):
        file = find_file("/".join(parts[:count]) + ".rb")
        if file is not None:
            return file
    return None


@functools.lru_cache(maxsize=2048)
def _load(path: str, digest: str, text: str) -> RubyFile | None:
    try:
        return RubyFile(Source(path, text))
    except (PrecastError, RecursionError):
        return None


def load_ruby_file(path: str, digest: str, text: str) -> RubyFile | None:
    """Return the file, cached by its content; None if it cannot be lexed or is larger than any file written by hand."""
    return _load(path, digest, text) if len(text) <= _MAX_BYTES else None


def symbol_text(token: Token) -> str | None:
    """Return the name in a symbol or string without interpolation, None for other tokens."""
    return token.value if token.kind in ("symbol", "string") and isinstance(token.value, str) else None
