"""Parsing and checking any text ends, in a tree or in an error with a code and a place in the text.

The texts are pieces of the language in any order, programs of the specification rows with pieces removed, repeated and inserted, and
plain text. `make soak` tries many more of them.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precast.base.errors import InputError, PrecastError
from precast.base.spans import Source
from precast.lang.syntax.checker import check
from precast.lang.syntax.parser import parse, parse_epp
from tests.property.lang.mutations import mutated
from tests.spec.lang.rows import EXPRESSIONS, MANIFESTS, read_rows

PIECES = (
    '"', "'", "${", "}", "{", "(", ")", "[", "]", "|", "@(", '@("END")', "@(END/L)", "@(END:json)", "\nEND\n", "  |-END", "<%",
    "%>", "<%=", "<%-", "-%>", "<%#", "=>", "->", "::", "$x", "$", "\\", "/", "/*", "*/", "#", "\n", "if ", "case ", "class ",
    "define ", "function ", "type ", "node ", "inherits ", "?", "<|", "|>", "<<|", "|>>", "default", "undef", ":", ";", ",", ".",
    "@", "@@", "1", "0x", "1.5", "1e", "é", "\u2028", "\0", "_x", "a-b", "Foo", "*", "+=", "%", "~>", "notice ", "else ",
    "elsif ", "unless ", " in ", " and ", " ", "!", "==", "=~", ">>", "private", "+>", "plan ", "\r\n", "\t",
)  # fmt: skip
PROGRAMS = [row["source"] for row in read_rows(*EXPRESSIONS[:1], *MANIFESTS)]

pieced = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


texts = pieced | mutated(PROGRAMS, PIECES) | st.text(max_size=60)


def read(text: str, is_template: bool) -> None:
    """Parse and check a text; every error must have a code and a place inside the text."""
    source = Source("fuzz.pp", text)
    try:
        program = parse_epp(source) if is_template else parse(source)
    except InputError as error:
        assert_placed(error, text)
        return
    findings = check(program, "m")
    for finding in (*findings.errors, *findings.warnings):
        assert_placed(finding, text)


def assert_placed(error: PrecastError, text: str) -> None:
    assert error.code.startswith("LANG-")
    assert error.span is not None
    assert 0 <= error.span.start <= error.span.end <= len(text)
    assert error.render()


@given(texts, st.booleans())
@settings(max_examples=1_000)
def test_any_text_ends_in_a_tree_or_in_a_coded_error(text: str, is_template: bool) -> None:
    read(text, is_template)


@pytest.mark.soak
@pytest.mark.timeout(1_800)
@given(texts, st.booleans())
@settings(max_examples=100_000)
def test_many_texts_end_in_a_tree_or_in_a_coded_error(text: str, is_template: bool) -> None:
    read(text, is_template)


@pytest.mark.parametrize(
    ("opening", "inner", "closing"),
    [
        ("(", "1", ")"),
        ("[ ", "1", "]"),
        ("$x[", "1", "]"),
        ("if true { ", "1", "}"),
        ('"${', "1", '}"'),
        ("-", "1", ""),
        ("$x = ", "1", ""),
        ("1 + ", "1", ""),
        ("$a.b.", "c", ""),
        ("a -> ", "b", ""),
        ("class a { ", "", "}"),
        ("{a => ", "1", "}"),
        ("foo(", "1", ")"),
        ("$x.map |$y| { ", "1", "}"),
        ("if true {} els", "if true {}", ""),
        ("$x ? { 1 => ", "1", "}"),
        ("case 1 { 1: { ", "1", "} }"),
        ("notify { 'x': message => ", "1", "}"),
        ("type A = { a => ", "1", "}"),
        ('@("X")\n${', "", "\nX"),
    ],
)
@pytest.mark.parametrize("levels", [70, 300, 5_000])
def test_deep_nesting_is_refused_before_python_does(opening: str, inner: str, closing: str, levels: int) -> None:
    read(opening * levels + inner + closing * levels, is_template=False)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text", ["$" + "a_3x" * 50 + "A", "Aa" * 5_000, "a-" * 5_000, "::a" * 5_000, "$" + "a::" * 5_000, "/" * 5_000]
)
def test_long_words_are_read_in_time(text: str) -> None:
    """No pattern may try every way to split a word."""
    read(text, is_template=False)
    read(f"{text}::A", is_template=False)
