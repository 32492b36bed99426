"""The target language: how targets are parsed, and how invalid ones are reported."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base.errors import InputError, PrecastError
from precast.wire.query.parser import MAX_DEPTH, MAX_TERMS, parse
from precast.wire.query.targets import (
    And,
    Comparison,
    Existence,
    HasResource,
    Membership,
    NodeName,
    Not,
    ResourceReference,
    Term,
    is_list_of_names,
    plain_names,
    rests_on_claims,
    walk,
)


def said(term: Term) -> str:
    """Show a term in a form that tells how it was parsed."""
    if isinstance(term, NodeName):
        return f"glob:{term.text}" if term.is_glob else term.text
    if isinstance(term, Comparison):
        return f"{term.field} {term.sign} {term.value.value!r}"
    if isinstance(term, Membership):
        return f"{term.field} in {[value.value for value in term.values]}"
    if isinstance(term, Existence):
        return f"exists {term.field}"
    if isinstance(term, Not):
        return f"not {said(term.term)}"
    if isinstance(term, HasResource):
        return f"has {said(term.resource)}"
    if isinstance(term, ResourceReference):
        return f"{'glob:' if term.is_glob else ''}{term.type}[{term.title}]"
    word = " and " if isinstance(term, And) else " or "
    return f"({word.join(map(said, term.terms))})"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("web1.example.com", "web1.example.com"),
        ("web*.example.com", "glob:web*.example.com"),
        ("web[12]", "glob:web[12]"),
        ("a, b ,c*", "(a or b or glob:c*)"),
        ("role = db", "role = 'db'"),
        ('role="db"', "role = 'db'"),
        ("a or b and c", "(a or (b and c))"),
        ("not a and b", "(not a and b)"),
        ("not (a or b)", "not (a or b)"),
        ("not not a", "not not a"),
        ("(a, b) and role != 'x'", "((a or b) and role != 'x')"),
        ("facts.os.release.major >= 12", "facts.os.release.major >= 12"),
        ("facts.load > 1.5", "facts.load > 1.5"),
        ("facts.x = -3", "facts.x = -3"),
        ("facts.is_virtual = true", "facts.is_virtual = True"),
        ("facts.x = 'true'", "facts.x = 'true'"),
        ("facts.mountpoints./var/lib.size > 5", "facts.mountpoints./var/lib.size > 5"),
        ("facts.'odd name'.x = 1", "facts.odd name.x = 1"),
        ("name in ('a', b, 5)", "name in ['a', 'b', 5]"),
        ("exists facts.ec2_metadata", "exists facts.ec2_metadata"),
        ("has Package[nginx]", "has Package[nginx]"),
        ("not report.age < 2h", "not report.age < 7200.0"),
        ("outcome in (failed, 'broken-off')", "outcome in ['failed', 'broken-off']"),
        ("has apt::source[x] and not has File[/etc/*]", "(has Apt::Source[x] and not has glob:File[/etc/*])"),
        ("has 'Exec[a b]'", "has Exec[a b]"),
        (
            "has (type = Service and parameters.ensure != running) or role = db",
            "(has (type = 'Service' and parameters.ensure != 'running') or role = 'db')",
        ),
        (r"name ~ '^web\d+\.'", r"name ~ '^web\\d+\\.'"),
        (r"role = 'it\'s'", 'role = "it\'s"'),
        ("trusted.extensions.pp_role = db", "trusted.extensions.pp_role = 'db'"),
        ("trusted.domain !~ 'example'", "trusted.domain !~ 'example'"),
        ("'and'", "and"),
        ("state in (away, expired)", "state in ['away', 'expired']"),
    ],
)
def test_target_is_parsed_to_its_terms(text: str, meaning: str) -> None:
    assert said(parse(text)) == meaning


@pytest.mark.parametrize(
    ("text", "code", "column", "words"),
    [
        ("role == 'x'", "TARGET-001", 6, "write ="),
        ("a && b", "TARGET-001", 3, "write and"),
        ("a || b", "TARGET-001", 3, "write or"),
        ("!a", "TARGET-001", 1, "write not"),
        ("role =~ 'x'", "TARGET-001", 6, "write ~"),
        ("role =", "TARGET-001", 7, "a value"),
        ("role = and", "TARGET-001", 8, "a value"),
        ("(a", "TARGET-001", 3, ")"),
        ("a)", "TARGET-001", 2, "the end"),
        ("a b", "TARGET-001", 3, "comma"),
        ("not", "TARGET-001", 4, "a name"),
        ("a,", "TARGET-001", 3, "a name"),
        ("role = 'x", "TARGET-001", 8, "close it"),
        ("'x' = 5", "TARGET-001", 1, "without quotes"),
        ("name in a", "TARGET-001", 9, "( and values"),
        ("name in ()", "TARGET-001", 10, "a value"),
        ("facts.os.family", "TARGET-001", 1, "exists facts.os.family"),
        ("trusted.extensions.pp_role", "TARGET-001", 1, "= 'value'"),
        ("ä = 1", "TARGET-001", 1, "quotes"),
        ("rol = x", "TARGET-002", 1, "role"),
        ("a and fact.os = x", "TARGET-002", 7, "facts"),
        ("facts = x", "TARGET-002", 1, "facts.PATH"),
        ("facts..x = 1", "TARGET-002", 1, "facts.PATH"),
        ("role.x = 1", "TARGET-002", 1, "role"),
        ("trusted.extension.pp_role = 1", "TARGET-002", 1, "trusted.extensions"),
        ("trusted.extensions = 1", "TARGET-002", 1, "NAME"),
        ("name ~ '('", "TARGET-003", 8, "regular expressions"),
        ("has nginx", "TARGET-001", 5, "Type[title]"),
        ("report.age < 5", "TARGET-001", 14, "90s, 30m, 12h or 7d"),
        ("report.fialed > 0", "TARGET-002", 1, "did you mean report.failed?"),
        ("report.failed.x > 0", "TARGET-002", 1, "report.failed"),
        ("has", "TARGET-001", 4, "Package[nginx]"),
        ("has (role = db)", "TARGET-002", 6, "the fields of a resource are type, title"),
        ("has (titel = x)", "TARGET-002", 6, "did you mean title?"),
    ],
)
def test_invalid_target_is_refused_with_its_column(text: str, code: str, column: int, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    rendered = caught.value.render()
    assert caught.value.code == code
    assert rendered.startswith(f"target:1:{column}: ")
    assert words in rendered


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_empty_target_is_refused_and_never_selects_all(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.code == "TARGET-005"


@pytest.mark.parametrize(
    "text",
    [
        "(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1),
        "not " * (MAX_DEPTH + 1) + "a",
        " or ".join(["role = x"] * (MAX_TERMS + 1)),
        ",".join(["a*"] * (MAX_TERMS + 1)),
        f"facts.{'.'.join('x' * 20)} = 1",
        "a" * 200_001,
    ],
)
def test_target_beyond_a_limit_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.code == "TARGET-004"


def test_list_of_names_is_not_limited_like_a_query() -> None:
    names = [f"web{number}" for number in range(5000)]
    assert plain_names(parse(",".join(names))) == names


def is_read_or_refused(text: str) -> bool:
    try:
        return bool(list(walk(parse(text))))
    except PrecastError as error:
        return error.code.startswith("TARGET-") and error.code in error.render()


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_refused_with_a_code(text: str) -> None:
    assert is_read_or_refused(text)


@given(
    st.lists(
        st.sampled_from(
            ["a", "b*", "role", "facts.x", "=", "~", "'x'", "(", ")", ",", "and", "or", "not", "in", "exists", "5"]
        )
    )
)
def test_any_sequence_of_tokens_is_parsed_or_refused_with_a_code(words: list[str]) -> None:
    assert is_read_or_refused(" ".join(words))


def test_target_that_depends_on_facts_is_detected() -> None:
    assert rests_on_claims(parse("a or not (role = x and exists facts.y)"))
    assert not rests_on_claims(parse("a, role = facts and trusted.extensions.facts = x"))


@pytest.mark.parametrize(
    ("text", "expected"), [("a", True), ("a, (b or c)", True), ("a*", False), ("a and b", False), ("not a", False)]
)
def test_list_of_names_is_detected(text: str, expected: bool) -> None:
    assert is_list_of_names(parse(text)) is expected


def test_plain_names_are_those_outside_of_conditions() -> None:
    assert plain_names(parse("a, b or c, d*, e and role = x, not f")) == ["a", "b", "c"]
