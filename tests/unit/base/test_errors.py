"""Errors, their kinds and their declarations."""

import copy
import importlib
import pickle
import pkgutil
import re
import string
from collections.abc import Callable, Iterator

import pytest

import precast
from precast.base import errors
from precast.base.errors import CONSEQUENCES, Consequence, Issue, Kind, PrecastError
from precast.base.spans import Source, Span

# Issues whose next step depends on the case: their hint is a field that the caller fills.
HINT_FILLED_BY_THE_CALLER = {"CLI-001"}
# Issues whose message lists problems, each on a line of its own.
LISTS_PROBLEMS = {"ENV-008"}


@pytest.fixture(autouse=True)
def declared_for_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the issues that a test declares after the test."""
    monkeypatch.setattr(errors, "_declared", dict(errors._declared))


def product_issues() -> Iterator[Issue]:
    """Every issue that a module named `issues` of the product declares."""
    for module in pkgutil.walk_packages(precast.__path__, "precast."):
        if module.name.endswith(".issues"):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, Issue):
                    yield value


ALL_ISSUES = sorted(product_issues(), key=lambda issue: issue.code)


class Word:
    """A value that takes any format specification."""

    def __format__(self, spec: str) -> str:
        return "word"


def filled(issue: Issue) -> PrecastError:
    return issue.error(**{field: Word() for field in issue.fields})


@pytest.mark.parametrize("issue", ALL_ISSUES, ids=lambda issue: issue.code)
def test_declared_issue_has_a_code_and_a_text_that_fills(issue: Issue) -> None:
    assert re.fullmatch(r"[A-Z]+-\d{3}", issue.code)
    error = filled(issue)
    assert error.message
    assert error.message == error.message.strip()
    # A message may contain braces, but not a field name in braces, which was meant to be filled in.
    assert re.search(r"\{[a-z_]*[:}]", error.message + error.hint) is None
    assert "\n" not in error.message + error.hint or issue.code in LISTS_PROBLEMS
    assert error.kind is issue.kind


@pytest.mark.parametrize("issue", ALL_ISSUES, ids=lambda issue: issue.code)
def test_declared_issue_names_the_next_step(issue: Issue) -> None:
    if issue.code in HINT_FILLED_BY_THE_CALLER:
        assert re.fullmatch(r"\{\w+\}", issue.hint)
    else:
        assert string.Formatter().vformat(issue.hint, (), {field: Word() for field in issue.fields}).strip()


def test_declared_issues_after_loading_the_product_are_all_of_them_by_code() -> None:
    codes = [issue.code for issue in errors.declared_issues()]
    assert codes == sorted(codes)
    assert {issue.code for issue in ALL_ISSUES} <= set(codes)
    assert {"JSON-001", "JSON-002", "JSON-003", "CLI-001", "CLI-002", "CLI-003"} <= set(codes)


def test_consequences_table_covers_every_kind_and_nothing_else() -> None:
    assert set(CONSEQUENCES) == set(Kind)


def test_consequences_of_different_kinds_are_told_apart_by_exit_code_and_status() -> None:
    # For a command it is one thing not to be known and not to be allowed: EX_NOPERM; and to try again later: EX_TEMPFAIL.
    like = {Kind.UNAUTHENTICATED: Kind.DENIED, Kind.LIMITED: Kind.UNAVAILABLE}
    by_exit_code = {row.exit_code: kind for kind, row in CONSEQUENCES.items() if kind not in like}
    assert len(by_exit_code) == len(Kind) - len(like)
    assert all(by_exit_code[CONSEQUENCES[kind].exit_code] is shared for kind, shared in like.items())
    assert len({row.http_status for row in CONSEQUENCES.values()}) == len(Kind)


@pytest.mark.parametrize(
    ("kind", "name", "consequence"),
    [
        (Kind.INPUT, "InputError", (64, 400, False)),
        (Kind.NOT_FOUND, "NotFoundError", (66, 404, False)),
        (Kind.CONFLICT, "ConflictError", (73, 409, False)),
        (Kind.UNAUTHENTICATED, "UnauthenticatedError", (77, 401, False)),
        (Kind.DENIED, "DeniedError", (77, 403, False)),
        (Kind.UNAVAILABLE, "UnavailableError", (75, 503, True)),
        (Kind.LIMITED, "LimitedError", (75, 429, True)),
        (Kind.INTERNAL, "InternalError", (70, 500, False)),
    ],
)
def test_error_of_each_kind_has_its_class_and_consequence(
    kind: Kind, name: str, consequence: tuple[int, int, bool]
) -> None:
    error = Issue("TEST-001", kind, "no").error()
    assert type(error).__name__ == name
    assert error.kind is kind
    assert error.consequence == Consequence(*consequence)


def test_issue_error_fills_text_and_hint_with_the_same_values() -> None:
    issue = Issue("TEST-001", Kind.CONFLICT, "{node} holds {size:,} bytes", "remove {node}")
    error = issue.error(node="web1", size=12345)
    assert (error.code, error.message, error.hint) == ("TEST-001", "web1 holds 12,345 bytes", "remove web1")
    assert str(error) == error.message


def test_issue_error_leaves_braces_in_values_alone() -> None:
    assert Issue("TEST-001", Kind.INPUT, "got {value}").error(value="{node}").message == "got {node}"


@pytest.mark.parametrize("values", [{}, {"node": "a", "more": 1}, {"nod": "a"}])
def test_issue_error_with_other_fields_than_declared_is_refused(values: dict[str, object]) -> None:
    issue = Issue("TEST-001", Kind.INPUT, "no {node}")
    with pytest.raises(TypeError, match=r"TEST-001 takes \['node'\]"):
        issue.error(**values)


def test_issue_declared_twice_is_refused() -> None:
    Issue("TEST-001", Kind.INPUT, "first")
    with pytest.raises(ValueError, match="TEST-001 is declared twice"):
        Issue("TEST-001", Kind.INPUT, "second")


@pytest.mark.parametrize("text", ["{}", "{0}", "{node.name}", "{node[0]}", "{size:{width}}"])
def test_issue_with_a_field_that_is_no_plain_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="TEST-001"):
        Issue("TEST-001", Kind.INPUT, "text", f"hint {text}")
    assert "TEST-001" not in errors._declared


def test_issue_matches_only_its_own_errors() -> None:
    one, other = Issue("TEST-001", Kind.INPUT, "a"), Issue("TEST-002", Kind.INPUT, "a")
    assert one.matches(one.error())
    assert not one.matches(other.error())
    assert not one.matches(ValueError("TEST-001"))


def test_render_without_a_source_gives_one_line_and_the_hint() -> None:
    issue = Issue("TEST-001", Kind.INPUT, "bad {word}", "say {word} again")
    assert issue.error(word="x").render() == "error: bad x [TEST-001]\n  hint: say x again"


def test_render_without_a_hint_gives_one_line() -> None:
    assert Issue("TEST-001", Kind.INPUT, "bad").error().render() == "error: bad [TEST-001]"


def test_render_of_hostile_values_stays_one_line_without_escapes() -> None:
    error = Issue("TEST-001", Kind.INPUT, "bad {word}", "not {word}").error(word="\x1b[2J\nerror: forged")
    assert error.render() == (
        "error: bad \\u{1b}[2J\\u{a}error: forged [TEST-001]\n  hint: not \\u{1b}[2J\\u{a}error: forged"
    )


def test_render_with_source_and_span_shows_the_place() -> None:
    source = Source("a.pp", "x = y")
    error = Issue("TEST-001", Kind.INPUT, "no {name}", "define it").error(source, Span(4, 5), name="y")
    assert error.render().split("\n") == [
        "a.pp:1:5: error: no y [TEST-001]",
        "    1 | x = y",
        "      |     ^",
        "  hint: define it",
    ]


def test_render_with_a_source_but_no_span_names_the_file() -> None:
    error = Issue("TEST-001", Kind.INPUT, "no statement", "add one").error(Source("a\n.pp", ""))
    assert error.render() == "a\\u{a}.pp: error: no statement [TEST-001]\n  hint: add one"


@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy], ids=["pickle", "copy"])
def test_error_sent_to_another_process_arrives_whole(again: Callable[[PrecastError], PrecastError]) -> None:
    source = Source("a.pp", "x = y")
    error = Issue("TEST-001", Kind.DENIED, "no {name}", "define it").error(source, Span(4, 5), name="y")
    arrived = again(error)
    assert type(arrived) is type(error)
    assert arrived.render() == error.render()
    assert str(arrived) == str(error)
