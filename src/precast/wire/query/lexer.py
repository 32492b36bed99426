"""The lexer of the target language: splits a text into names and globs, paths, quoted texts and operators, each with its span."""

import re
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.wire import issues

MAX_CHARS = 200_000

KEYWORDS = ("and", "or", "not", "in", "exists", "has")
_BLANK = re.compile(r"\s+")
_QUOTED = re.compile(r"'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\"", re.DOTALL)
_SIGN = re.compile(r"!=|>=|<=|!~|[=~<>(),]")
# A name, a glob or a path. A part of a path with other characters is quoted: facts.mountpoints.'/my disk'.size
_WORD = re.compile(r"""(?:[A-Za-z0-9_.*?:/@+-] | \[[^\]\s]*\] | (?<=\.)'[^']*' | (?<=\.)"[^"]*")+""", re.VERBOSE)
# Operators of other languages, and the operator to use instead.
_FOREIGN = {"==": "=", "&&": "and", "||": "or", "!": "not", "=~": "~", "<>": "!="}
_FOREIGN_SIGN = re.compile(r"==|&&|\|\||=~|<>|!(?![=~])|[&|]")


class Token(NamedTuple):
    """One token. `kind` is word, quoted, sign, or end."""

    kind: str
    text: str
    span: Span

    def __str__(self) -> str:
        return {"end": "the end", "quoted": f"{self.text!r}"}.get(self.kind, self.text)


def tokenize(source: Source) -> list[Token]:
    """Split a source into tokens; the last one is the end. Raises InputError TARGET-001 or TARGET-004."""
    text = source.text
    if len(text) > MAX_CHARS:
        raise issues.TARGET_TOO_LARGE.error(what=f"a target of {len(text)} characters", limit=MAX_CHARS)
    tokens = []
    at = 0
    while at < len(text):
        if blank := _BLANK.match(text, at):
            at = blank.end()
            continue
        token = _next(source, at)
        tokens.append(token)
        at = token.span.end
    return [*tokens, Token("end", "", Span(at, at + 1))]


def _next(source: Source, at: int) -> Token:
    if foreign := _FOREIGN_SIGN.match(source.text, at):
        raise _unknown(source, foreign)
    if quoted := _QUOTED.match(source.text, at):
        inside = quoted[1] if quoted[1] is not None else quoted[2]
        # Only a quote and a backslash are escaped: every other backslash belongs to a pattern that the text may be.
        return Token("quoted", re.sub(r"\\(['\"\\])", r"\1", inside), Span(*quoted.span()))
    for kind, form in (("sign", _SIGN), ("word", _WORD)):
        if match := form.match(source.text, at):
            return Token(kind, match[0], Span(*match.span()))
    if source.text[at] in "'\"":
        raise issues.TARGET_SYNTAX.error(
            source, Span(at, at + 1), problem="this quote is not closed", advice="close it with the same character"
        )
    raise issues.TARGET_SYNTAX.error(
        source,
        Span(at, at + 1),
        problem=f"{source.text[at]!r} has no meaning here",
        advice="put text with this character in quotes",
    )


def _unknown(source: Source, match: "re.Match[str]") -> PrecastError:
    replacement = _FOREIGN.get(match[0])
    return issues.TARGET_SYNTAX.error(
        source,
        Span(*match.span()),
        problem=f"{match[0]} has no meaning here",
        advice=f"write {replacement}" if replacement else "write `and` or `or`",
    )
