"""Steps through tokens; an error has the position of the current token."""

from typing import NoReturn

from precast.base.spans import Source
from precast.lang.issues import erb as issues
from precast.lang.ruby.syntax.tokens import Token, describe_kind


class TokenReader:
    """The position of a parser in its tokens. The last token is never passed."""

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

    def accept(self, *kinds: str) -> bool:
        if self.token.kind in kinds:
            self.take()
            return True
        return False

    def expect(self, kind: str) -> Token:
        if self.token.kind != kind:
            self.fail(f"expected {describe_kind(kind)}, got {describe_kind(self.token.kind)}")
        return self.take()

    def fail(self, problem: str, hint: str = "check this tag and the tag before it") -> NoReturn:
        raise issues.NO_SYNTAX.error(self.source, self.token.span, problem=problem, hint=hint)

    def refuse(self, construct: str) -> NoReturn:
        raise issues.NOT_IN_SUBSET.error(self.source, self.token.span, construct=construct)

    def skip_lines(self) -> None:
        while self.token.kind == "\n":
            self.take()
