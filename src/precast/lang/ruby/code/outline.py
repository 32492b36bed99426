"""The outline of a Ruby file: its statements, and the blocks in them, by the places of their tokens.

Only what encloses what is decided here: where `do`, `{`, `if` or `def` begin something and which `end` closes it. The branches of a
condition are one list of statements. What a statement says is read from its tokens by whoever needs it.
"""

from typing import Final, NamedTuple

from precast.lang.ruby.syntax.lexer import Token

_ALWAYS: Final = frozenset(("def", "class", "module", "begin", "case", "for", "do"))
_MODIFIERS: Final = frozenset(("if", "unless", "while", "until"))
_LOOPS: Final = frozenset(("while", "until", "for"))
# Words that part a block: what follows the first ones on their line is a condition.
_PARTS_WITH_HEAD: Final = frozenset(("elsif", "when", "rescue", "in"))
_PARTS: Final = frozenset(("else", "ensure", "then"))
# After one of these a word like `if` ends the statement before it rather than beginning one of its own.
_VALUES: Final = frozenset(
    (
        *("name", "number", "string", "symbol", "ivar", "global", "constant", "words", "pattern", "command"),
        *(")", "]", "}", "end", "nil", "true", "false", "self", "return", "next", "break", "redo", "retry", "super"),
        "yield",
    )
)
_BLOCK_BEFORE: Final = frozenset(("name", ")", "]", "constant", "->", "super", "yield"))
_END: Final = "end of template"


class Block(NamedTuple):
    """`word` says what began it; the head reaches from `start` to `body`; `names` are its parameters."""

    word: str
    start: int
    body: int
    end: int
    names: tuple[str, ...]
    statements: "tuple[Statement, ...]"


class Statement(NamedTuple):
    """Tokens from `start` to before `end`, and the blocks among them in order."""

    start: int
    end: int
    blocks: tuple[Block, ...]


def outline(tokens: list[Token]) -> tuple[Statement, ...]:
    """The statements of a file, as far as its blocks can be told."""
    return tuple(_Outliner(tokens).statements(0, frozenset((_END,)))[0])


class _Outliner:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens

    def _sort(self, at: int) -> str:
        return self._tokens[at].sort if at < len(self._tokens) else _END

    def statements(self, at: int, closers: frozenset[str]) -> tuple[list[Statement], int]:
        found: list[Statement] = []
        while (sort := self._sort(at)) not in closers and sort != _END:
            if sort in _PARTS_WITH_HEAD:
                at = self._line_end(at + 1)
            elif sort in _PARTS or sort in ("\n", "end", "}", ")", "]", ","):
                at += 1
            else:
                statement = self._statement(at, closers)
                found.append(statement)
                at = statement.end
        return found, at

    def _line_end(self, at: int) -> int:
        while self._sort(at) not in ("\n", "then", _END):
            at += 1
        return at

    def _statement(self, start: int, closers: frozenset[str]) -> Statement:
        at, depth, blocks = start, 0, list[Block]()
        while (sort := self._sort(at)) != _END:
            if depth == 0 and at > start and (sort == "\n" or sort in closers):
                break
            if sort in ("(", "["):
                depth += 1
            elif sort in (")", "]"):
                depth -= 1
                if depth < 0:
                    break
            elif sort == "{" or self._opens(at):
                block = self._block(at, is_hash=sort == "{" and self._sort(at - 1) not in _BLOCK_BEFORE)
                if block.word != "{}":
                    blocks.append(block)
                at = block.end
                continue
            at += 1
        return Statement(start, min(max(at, start + 1), len(self._tokens)), tuple(blocks))

    def _opens(self, at: int) -> bool:
        sort = self._sort(at)
        if sort in _ALWAYS:
            return True
        return sort in _MODIFIERS and (at == 0 or self._sort(at - 1) not in _VALUES)

    def _block(self, at: int, is_hash: bool) -> Block:
        """The block that begins here, up to after what closes it."""
        word = self._sort(at)
        closer = "}" if word == "{" else "end"
        names: tuple[str, ...] = ()
        body = at + 1
        if word in ("{", "do"):
            names, body = self._names(body)
        elif word == "def":
            body = self._after_definition(body)
            if self._sort(body) == "=":  # one expression, no end
                return Block(word, at, body, self._line_end(body), (), ())
        elif word != "begin":
            body = self._line_end(body)
            if word in _LOOPS:
                body = self._loop_body(at + 1, body)
        found, end = self.statements(body, frozenset((closer,)))
        return Block("{}" if is_hash else word, at, body, min(end + 1, len(self._tokens)), names, tuple(found))

    def _loop_body(self, at: int, line_end: int) -> int:
        """After the `do` of a loop, which is no block of its own."""
        while at < line_end:
            if self._sort(at) == "do":
                return at + 1
            at += 1
        return line_end

    def _names(self, at: int) -> tuple[tuple[str, ...], int]:
        if self._sort(at) != "|":
            return (), at
        names: list[str] = []
        at += 1
        while self._sort(at) not in ("|", _END):
            if self._sort(at) == "name":
                names.append(str(self._tokens[at].value))
            at += 1
        return tuple(names), at + 1

    def _after_definition(self, at: int) -> int:
        """Past `self.name(parameters)`: a name may be any word, a keyword too."""
        at += 1
        if self._sort(at) == ".":
            at += 2
        if self._sort(at) == "=" and not self._tokens[at].is_spaced:  # a writer: `def name=(value)`
            at += 1
        if self._sort(at) != "(":
            return at if self._sort(at) == "=" else self._line_end(at)
        depth = 0
        while (sort := self._sort(at)) != _END:
            depth += {"(": 1, ")": -1}.get(sort, 0)
            at += 1
            if depth == 0:
                break
        return at
