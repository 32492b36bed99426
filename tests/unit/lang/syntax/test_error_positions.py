"""Positions of errors: spans refer to the file on disk, also inside interpolation, heredocs and templates."""

import pytest

from precast.base.errors import InputError
from precast.base.spans import Source
from precast.lang.syntax import ast
from precast.lang.syntax.checker import check
from precast.lang.syntax.parser import parse, parse_epp


def refusal(text: str, is_template: bool = False) -> str:
    """The place and code of the first error, as LINE:COLUMN CODE."""
    source = Source("site.pp", text)
    try:
        error = check(parse_epp(source) if is_template else parse(source)).errors[0]
    except InputError as raised:
        error = raised
    assert error.span is not None
    place = source.position(error.span.start)
    return f"{place.line}:{place.column} {error.code}"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("notify { 'a':\n  message => 1 +\n}\n", "3:1 LANG-001"),
        ('$x = "abc ${1 + } d"', "1:17 LANG-001"),
        ('$x = "abc ${$Y} d"', "1:13 LANG-123"),
        ('$x = "a ${"b ${$Y}"} d"', "1:16 LANG-123"),
        ('$x = @("END")\n    line\n    more ${$Y}\n    | END\n', "3:12 LANG-123"),
        ('$x = @("END")\n    line\n    more ${1 +}\n    | END\n', "3:15 LANG-001"),
        ('$x = @(END), @("TWO")\n  a\n  | END\n  ${$Y}\n  | TWO\n', "1:12 LANG-032"),
        ('foo(@(END), @("TWO"))\n  a\n  | END\n  ${$Y}\n  | TWO\n', "4:5 LANG-123"),
        ("'abc", "1:1 LANG-003"),
        ('"abc ${x} def', "1:1 LANG-003"),
        ("class foo {\n  notice(1)\n", "2:11 LANG-002"),
        ("/* abc", "1:1 LANG-011"),
        ("é", "1:1 LANG-001"),
    ],
)
def test_error_in_a_manifest_has_its_position_in_the_file(text: str, place: str) -> None:
    assert refusal(text) == place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("line\n<%= $Y %>\n", "2:5 LANG-123"),
        ("line\n  <%- if true { -%>\n<%= 1 + %>\n<% } %>", "3:9 LANG-001"),
        ("line\n<%= 1", "2:1 LANG-025"),
        ('<%= "a ${$Y}" %>', "1:10 LANG-123"),
    ],
)
def test_error_in_an_epp_template_has_its_position_in_the_file(text: str, place: str) -> None:
    assert refusal(text, is_template=True) == place


def test_unclosed_brace_is_named_by_its_line() -> None:
    with pytest.raises(InputError) as failure:
        parse(Source("site.pp", "class a {\n  if true {\n    notice(1)\n}\n"))
    assert failure.value.hint == "the { in line 1, column 9 is not closed"


def test_missing_comma_is_named() -> None:
    with pytest.raises(InputError) as failure:
        parse(Source("site.pp", "file { '/a':\n  ensure => file\n  mode => '0644',\n}\n"))
    assert failure.value.hint == "a comma is missing before it"


def test_every_node_lies_inside_the_text_and_its_parent() -> None:
    text = 'class a($x = 1) { notify { "t${x[1]}": message => $x.map |$y| { $y + 1 } } -> File <| a == 1 |> }'
    program = parse(Source("site.pp", text))
    for definition in program.definitions:
        assert text[definition.span.start : definition.span.end] == "class a"
    body = program.definitions[0]
    assert isinstance(body, ast.HostClassDefinition)
    relationship = body.body.statements[0]
    assert isinstance(relationship, ast.Relationship)
    assert text[relationship.right.span.start : relationship.right.span.end] == "File <| a == 1 |>"
    assert isinstance(relationship.left, ast.Resource)
    operation = relationship.left.bodies[0].operations[0]
    assert text[operation.value.span.start : operation.value.span.end] == "$x.map |$y| { $y + 1 }"


def test_definitions_are_listed_with_complete_names_in_the_order_of_the_text() -> None:
    program = parse(Source("site.pp", "class a { class b { define c { } } }\nfunction d() { }\nclass e { }"))
    names = [getattr(definition, "name", None) for definition in program.definitions]
    assert names == ["a", "a::b", "a::b::c", "d", "e"]
