"""How a text is split into tokens, unambiguously and on every Python."""

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
def test_comment_ends_at_its_first_end_mark(text: str, like: str) -> None:
    assert kinds(text) == kinds(like)


@pytest.mark.parametrize("rest", ["\u2603", "`", "\u2603 */ b"])
def test_comment_before_an_invalid_character_is_skipped(rest: str) -> None:
    commented, bare = (lexer.lex(Source("site.pp", text)) for text in (f"/* a */ {rest}", rest))
    assert (commented.kinds, commented.values) == (bare.kinds, bare.values)


@pytest.mark.parametrize("text", [r"'a\'", r"'\\\'", "'a\\\\\\'"])
def test_quote_after_a_backslash_does_not_close_the_string(text: str) -> None:
    with pytest.raises(InputError, match="Unclosed quote"):
        lexer.lex(Source("site.pp", text))


def test_no_group_is_repeated_possessively() -> None:
    """Python before 3.11.5, which Debian 12 has, loses its position when it backtracks into such a group."""
    patterns = [
        *(
            pattern
            for module in (lexer, escapes, heredocs)
            for pattern in vars(module).values()
            if isinstance(pattern, re.Pattern)
        ),
        *lexer.CODE,
        *lexer.EPP_CODE,
        *(escapes.EscapeSet(flags, is_quoted=is_quoted).plain for flags in ("", "n$") for is_quoted in (True, False)),
    ]
    assert len(patterns) > 8
    assert not [pattern.pattern for pattern in patterns if re.search(r"\)[*+?]\+", pattern.pattern)]
