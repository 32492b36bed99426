"""One Ruby file, lexed and outlined once for its content, and the questions that readers ask of it."""

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.ruby.code.constants import Constants
from precast.lang.ruby.code.lexer import lex
from precast.lang.ruby.code.methods import NotConstant
from precast.lang.ruby.code.outline import Statement, outline
from precast.lang.ruby.syntax import nodes
from precast.lang.ruby.syntax.lexer import Token
from precast.lang.ruby.syntax.parser import parse_tokens

_LONGEST = 512 * 1024
# A file below `lib` of any module, by its path there; None if no module has it.
Library = Callable[[str], "Code | None"]


class Code:
    """A file's tokens and outline."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = lex(source)
        self.statements = outline(self.tokens)

    def all_statements(self) -> Iterator[Statement]:
        """Every statement at any depth, a block's after the one it stands in."""
        yield from _walk(self.statements)

    def has_word(self, *names: str) -> bool:
        return any(token.sort == "name" and token.value in names for token in self.tokens)

    def tree(self, start: int, end: int) -> nodes.Node | None:
        """The tree of some tokens, None if they are outside of what is read."""
        try:
            return parse_tokens(self.source, self.tokens[start:end])
        except (PrecastError, RecursionError):
            return None

    def defined_name(self, statement: Statement) -> str | None:
        """The name of the method that a statement defines; None if it defines none."""
        if self.tokens[statement.start].sort != "def":
            return None
        at = statement.start + (3 if self.tokens[statement.start + 2].sort == "." else 1)
        token = self.tokens[at]
        return str(token.value) if token.value is not None else token.sort

    def method(self, name: str) -> Statement | None:
        return next((each for each in self.all_statements() if self.defined_name(each) == name), None)

    def call(self, name: str, args: tuple[Any, ...], library: Library) -> Any:
        """What a method of the file gives. Raises NotConstant."""
        statement = self.method(name)
        if statement is None:
            raise NotConstant
        tokens = self.tokens[statement.start : statement.end]
        if tokens[2].sort == ".":  # `def self.name` is read as `def name`
            tokens = [tokens[0], *tokens[3:]]
        try:
            tree = parse_tokens(self.source, tokens)
        except (PrecastError, RecursionError):
            raise NotConstant from None
        while isinstance(tree, nodes.Sequence) and len(tree.statements) == 1:
            tree = tree.statements[0]
        if not isinstance(tree, nodes.Define):
            raise NotConstant
        return Constants({}, self.function(library)).apply(tree.parameters, tree.body, args)

    def function(self, library: Library) -> Callable[[str, str, tuple[Any, ...]], Any]:
        """How code of this file finds methods: its own, and those of the constants it names."""

        def call(constant: str, name: str, args: tuple[Any, ...]) -> Any:
            if not constant:
                return self.call(name, args, library)
            found = file_of(constant, library)
            if found is None:
                raise NotConstant
            return found.call(name, args, library)

        return call


def _walk(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in statements:
        yield statement
        for block in statement.blocks:
            yield from _walk(block.statements)


def file_of(constant: str, library: Library) -> Code | None:
    """The file that a constant stands in by custom: `PuppetX::Name::Part` in puppet_x/name/part.rb, or in one above it."""
    parts = [re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", part).lower() for part in constant.split("::")]
    for count in range(len(parts), 0, -1):
        found = library("/".join(parts[:count]) + ".rb")
        if found is not None:
            return found
    return None


@functools.lru_cache(maxsize=2048)
def _code(path: str, digest: str, text: str) -> Code | None:
    try:
        return Code(Source(path, text))
    except (PrecastError, RecursionError):
        return None


def code_of(path: str, digest: str, text: str) -> Code | None:
    """The file, made once for its content; None if its blocks cannot be told apart, or if nobody would write so much by hand."""
    return _code(path, digest, text) if len(text) <= _LONGEST else None


def symbol_text(token: Token) -> str | None:
    """The name in a symbol or string that has no code in it."""
    return token.value if token.sort in ("symbol", "string") and isinstance(token.value, str) else None
