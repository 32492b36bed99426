"""How a text is cut into tokens: what can be read in one way only, and on every Python."""

import re

import pytest

from precast.base.errors import InputError
from precast.base.spans import Source
from precast.lang.syntax import escapes, heredocs, lexer, tokens


def kinds(text: str) -> list[str]:
    return [kind for kind in lexer.lex(Source("site.pp", text)).kinds if kind != tokens.END]


@pytest.mark.parametrize(
    ("text", "like"),
    [
        ("/* a */ $x", "$x"),
        ("/**/ $x /***/", "$x"),
        ("/* * / ** */ $x", "$x"),
        ("# a /* b\n$x", "$x"),
        ("/* # */ $x", "$x"),
        ("/* a */ b */", "b */"),
        ("1 / 2 /* 3 */", "1 / 2"),
    ],
)
def test_comment_ends_where_it_ends(text: str, like: str) -> None:
    assert kinds(text) == kinds(like)


@pytest.mark.parametrize("rest", ["\u2603", "`", "\u2603 */ b"])
def test_comment_before_what_is_no_token_stays_one(rest: str) -> None:
    found, bare = (lexer.lex(Source("site.pp", text)) for text in (f"/* a */ {rest}", rest))
    assert (found.kinds, found.values) == (bare.kinds, bare.values)


@pytest.mark.parametrize("text", [r"'a\'", r"'\\\'", "'a\\\\\\'"])
def test_quote_behind_a_backslash_closes_nothing(text: str) -> None:
    with pytest.raises(InputError, match="Unclosed quote"):
        lexer.lex(Source("site.pp", text))


def test_no_group_is_repeated_possessively() -> None:
    """Python before 3.11.5, which Debian 12 has, then forgets where it was."""
    patterns = [
        *(one for module in (lexer, escapes, heredocs) for one in vars(module).values() if isinstance(one, re.Pattern)),
        *lexer.CODE,
        *lexer.EPP_CODE,
        *(escapes.EscapeSet(flags, is_quoted=is_quoted).plain for flags in ("", "n$") for is_quoted in (True, False)),
    ]
    assert len(patterns) > 8
    assert not [one.pattern for one in patterns if re.search(r"\)[*+?]\+", one.pattern)]
