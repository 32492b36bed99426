"""Ruby's regular expressions in Python; the expected results come from Ruby 3.1."""

import pytest

from precast.base.errors import InputError
from precast.lang.values.regexps import compile_regexp


@pytest.mark.parametrize(
    ("pattern", "text", "span"),
    [
        (r"^b$", "a\nb\nc", (2, 3)),
        (r"\Ab", "a\nb", None),
        (r"a\Z", "a\n", (0, 1)),
        (r"a\z", "a\n", None),
        (r"^$", "a\n", None),  # a newline at the very end does not begin a line
        (r"\h+", "xdeadBEEFx", (1, 9)),
        (r"[\h]+", "zz12", (2, 4)),
        (r"[[:alpha:]]+", "1é2", (1, 2)),
        (r"\w+", "é1", (1, 2)),
        (r"[^[:alpha:]]+", "é12", (1, 3)),
        (r"[a-z&&[^aeiou]]+", "aeixyz", (3, 6)),
        (r"[a-c[x-z]]+", "mxa", (1, 3)),
        (r"\p{Lu}+", "aÉB", (1, 3)),
        (r"a++b", "aab", (0, 3)),
        (r"a{1,2}+b", "aaab", (0, 4)),  # in Ruby a second quantifier, not a possessive one
        (r"a{,2}", "aaa", (0, 2)),
        (r"a(?i)b|c", "aB", (0, 2)),
        (r"(?m:a.c)", "a\nc", (0, 3)),
        (r"(?x) a b # c", "ab", (0, 2)),
        (r"(?<=a|bc)d", "bcd", (2, 3)),
        (r"\R", "\r\n", (0, 2)),
        (r"[]a]+", "a]", (0, 2)),
        (r"[&|~^-]+", "a&|-", (1, 4)),
        (r"\x41\u0042\u{43}", "ABC", (0, 3)),
    ],
)
def test_pattern_matches_as_in_ruby(pattern: str, text: str, span: tuple[int, int] | None) -> None:
    match = compile_regexp(pattern).search(text)
    assert (match.span() if match else None) == span


def test_named_groups_disable_numbered_ones() -> None:
    match = compile_regexp(r"(?<n>a)(b)").match("ab")
    assert match is not None
    assert match.groups() == ("a",)


@pytest.mark.parametrize(
    "pattern", ["[", "(", ")", "*a", "[z-a]", r"\G", r"a\Kb", r"(?<a>x)\g<a>", r"\p{Nonsense}", "\\"]
)
def test_untranslatable_pattern_is_refused_with_a_code(pattern: str) -> None:
    with pytest.raises(InputError) as caught:
        compile_regexp(pattern)
    assert caught.value.code == "LANG-210"
