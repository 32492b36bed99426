"""The outline of a Ruby file: its statements and the blocks in them, by the indexes of their tokens.

The outline decides only about nesting: where `do`, `{`, `if` or `def` begin a block and which `end` closes it. The branches of a
condition are one list of statements. Readers take the meaning of a statement from its tokens.
"""

from typing import Final, NamedTuple

from precast.lang.ruby.syntax.tokens import END, Token

_BLOCK_WORDS: Final = frozenset(("def", "class", "module", "begin", "case", "for", "do"))
_MODIFIERS: Final = frozenset(("if", "unless", "while", "until"))
_LOOPS: Final = frozenset(("while", "until", "for"))
# Words that begin another branch of a block: with and without a condition on their line.
_BRANCHES_WITH_HEAD: Final = frozenset(("elsif", "when", "rescue", "in"))
_BRANCHES: Final = frozenset(("else", "ensure", "then"))
# After one of these tokens a word like `if` is a modifier of the statement and begins no block.
_VALUE_ENDS: Final = frozenset(
    (
        *("name", "number", "string", "symbol", "ivar", "global", "constant", "words", "pattern", "command"),
        *(")", "]", "}", "end", "nil", "true", "false", "self", "return", "next", "break", "redo", "retry", "super"),
        "yield",
    )
)
_BLOCK_BEFORE: Final = frozenset(("name", ")", "]", "constant", "->", "super", "yield"))


class Block(NamedTuple):
    """A block that began with `word`; its head reaches from `start` to `body`, and `names` are its parameters."""

    word: str
    start: int
    body: int
    end: int
    names: tuple[str, ...]
    statements: "tuple[Statement, ...]"


class Statement(NamedTuple):
    """The tokens from `start` to before `end`, and the blocks among them in order."""

    start: int
    end: int
    blocks: tuple[Block, ...]


def outline(tokens: list[Token]) -> tuple[Statement, ...]:
    """Return the statements of a file."""
    return tuple(_Outliner(tokens).statements(0, frozenset((END,)))[0])


class _Outliner:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens

    def _kind(self, at: int) -> str:
        return self._tokens[at].kind if at < len(self._tokens) else END

    def statements(self, at: int, closers: frozenset[str]) -> tuple[list[Statement], int]:
        statements: list[Statement] = []
        while (kind := self._kind(at)) not in closers and kind != END:
            if kind in _BRANCHES_WITH_HEAD:
                at = self._line_end(at + 1)
            elif kind in _BRANCHES or kind in ("\n", "end", "}", ")", "]", ","):
                at += 1
            else:
                statement = self._statement(at, closers)
                statements.append(statement)
                at = statement.end
        return statements, at

    def _line_end(self, at: int) -> int:
        while self._kind(at) not in ("\n", "then", END):
            at += 1
        return at

    def _statement(self, start: int, closers: frozenset[str]) -> Statement:
        at, depth, blocks = start, 0, list[Block]()
        while (kind := self._kind(at)) != END:
            if depth == 0 and at > start and (kind == "\n" or kind in closers):
                break
            if kind in ("(", "["):
                depth += 1
            elif kind in (")", "]"):
                depth -= 1
                if depth < 0:
                    break
            elif kind == "{" or self._opens(at):
                block = self._block(at, is_hash=kind == "{" and self._kind(at - 1) not in _BLOCK_BEFORE)
                if block.word != "{}":
                    blocks.append(block)
                at = block.end
                continue
            at += 1
        return Statement(start, min(max(at, start + 1), len(self._tokens)), tuple(blocks))

    def _opens(self, at: int) -> bool:
        kind = self._kind(at)
        if kind in _BLOCK_WORDS:
            return True
        return kind in _MODIFIERS and (at == 0 or self._kind(at - 1) not in _VALUE_ENDS)

    def _block(self, at: int, is_hash: bool) -> Block:
        """Return the block that begins here, up to and including the token that closes it."""
        word = self._kind(at)
        closer = "}" if word == "{" else "end"
        names: tuple[str, ...] = ()
        body = at + 1
        if word in ("{", "do"):
            names, body = self._names(body)
        elif word == "def":
            body = self._after_definition(body)
            if self._kind(body) == "=":  # a definition of one expression has no `end`
                return Block(word, at, body, self._line_end(body), (), ())
        elif word != "begin":
            body = self._line_end(body)
            if word in _LOOPS:
                body = self._loop_body(at + 1, body)
        statements, end = self.statements(body, frozenset((closer,)))
        return Block("{}" if is_hash else word, at, body, min(end + 1, len(self._tokens)), names, tuple(statements))

    def _loop_body(self, at: int, line_end: int) -> int:
        """Return the index after the `do` of a loop, which begins no block of its own."""
        while at < line_end:
            if self._kind(at) == "do":
                return at + 1
            at += 1
        return line_end

    def _names(self, at: int) -> tuple[tuple[str, ...], int]:
        if self._kind(at) != "|":
            return (), at
        names: list[str] = []
        at += 1
        while self._kind(at) not in ("|", END):
            if self._kind(at) == "name":
                names.append(str(self._tokens[at].value))
            at += 1
        return tuple(names), at + 1

    def _after_definition(self, at: int) -> int:
        """Return the index after `self.name(parameters)`; the name may also be a keyword."""
        at += 1
        if self._kind(at) == ".":
            at += 2
        if self._kind(at) == "=" and not self._tokens[at].is_spaced:  # a writer: `def name=(value)`
            at += 1
        if self._kind(at) != "(":
            return at if self._kind(at) == "=" else self._line_end(at)
        depth = 0
        while (kind := self._kind(at)) != END:
            depth += {"(": 1, ")": -1}.get(kind, 0)
            at += 1
            if depth == 0:
                break
        return at
