"""Goes through the tokens of a template, and says what does not fit with its place."""

from typing import NoReturn

from precast.base.spans import Source
from precast.lang.issues import erb as issues
from precast.lang.ruby.syntax.lexer import Token


class TokenReader:
    """Where the parser is."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.at = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.tokens[self.at]
        self.at += self.at + 1 < len(self.tokens)
        return token

    def accept(self, *sorts: str) -> bool:
        if self.token.sort in sorts:
            self.take()
            return True
        return False

    def expect(self, sort: str) -> Token:
        if self.token.sort != sort:
            self.fail(f"{shown(sort)} is expected, not {shown(self.token.sort)}")
        return self.take()

    def fail(self, problem: str, hint: str = "look at the tag and the one before it") -> NoReturn:
        raise issues.NO_SYNTAX.error(self.source, self.token.span, problem=problem, hint=hint)

    def refuse(self, construct: str) -> NoReturn:
        raise issues.NOT_IN_SUBSET.error(self.source, self.token.span, construct=construct)

    def skip_lines(self) -> None:
        while self.token.sort == "\n":
            self.take()


def shown(sort: str) -> str:
    """A token as people say it."""
    return {"\n": "the end of the line", "end of template": "the end of the template", "output end": "%>"}.get(
        sort, f"`{sort}`"
    )
