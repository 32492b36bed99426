"""The words of the target language: names and globs, paths, quoted texts, signs. Each knows where it stands."""

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
# A name, a glob or a path. Part of a path may be quoted, where it holds something odd: facts.mountpoints.'/my disk'.size
_WORD = re.compile(r"""(?:[A-Za-z0-9_.*?:/@+-] | \[[^\]\s]*\] | (?<=\.)'[^']*' | (?<=\.)"[^"]*")+""", re.VERBOSE)
# What people write who know other languages, and what it is here.
_FOREIGN = {"==": "=", "&&": "and", "||": "or", "!": "not", "=~": "~", "<>": "!="}
_FOREIGN_SIGN = re.compile(r"==|&&|\|\||=~|<>|!(?![=~])|[&|]")


class Word(NamedTuple):
    """One word. `kind` is word, quoted, sign, or end."""

    kind: str
    text: str
    span: Span

    def __str__(self) -> str:
        return {"end": "the end", "quoted": f"{self.text!r}"}.get(self.kind, self.text)


def split(source: Source) -> list[Word]:
    """All words, with the end as the last. Raises InputError TARGET-001 or TARGET-004."""
    text = source.text
    if len(text) > MAX_CHARS:
        raise issues.TARGET_TOO_LARGE.error(what=f"a target of {len(text)} characters", limit=MAX_CHARS)
    words = []
    at = 0
    while at < len(text):
        if blank := _BLANK.match(text, at):
            at = blank.end()
            continue
        word = _next(source, at)
        words.append(word)
        at = word.span.end
    return [*words, Word("end", "", Span(at, at + 1))]


def _next(source: Source, at: int) -> Word:
    if foreign := _FOREIGN_SIGN.match(source.text, at):
        raise _unknown(source, foreign)
    if quoted := _QUOTED.match(source.text, at):
        inside = quoted[1] if quoted[1] is not None else quoted[2]
        # Only the quote and the backslash itself need one: all others are for the pattern that the text may be.
        return Word("quoted", re.sub(r"\\(['\"\\])", r"\1", inside), Span(*quoted.span()))
    for kind, form in (("sign", _SIGN), ("word", _WORD)):
        if found := form.match(source.text, at):
            return Word(kind, found[0], Span(*found.span()))
    if source.text[at] in "'\"":
        raise issues.TARGET_SYNTAX.error(
            source, Span(at, at + 1), problem="a quote without its end", advice="close it with the same sign"
        )
    raise issues.TARGET_SYNTAX.error(
        source,
        Span(at, at + 1),
        problem=f"{source.text[at]!r} has no meaning here",
        advice="put a text with such a character into quotes",
    )


def _unknown(source: Source, found: "re.Match[str]") -> PrecastError:
    right = _FOREIGN.get(found[0])
    return issues.TARGET_SYNTAX.error(
        source,
        Span(*found.span()),
        problem=f"{found[0]} has no meaning here",
        advice=f"write {right}" if right else "write and, or",
    )
