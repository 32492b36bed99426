"""Names of tasks and roles match exactly or by an expression that is anchored at its start, in bounded time."""

import pytest

from precast.base.errors import InputError
from precast.plans import issues
from precast.plans import names as names_module
from precast.plans.names import MAX_EXPRESSIONS, NameMatcher, check_name

NAMES = ["ceph-osd", "ceph-mon", "cinder", "primary-neutron", "neutron", "my-neutron"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("cinder", ["cinder"]),
        ("cind", []),
        ("/ceph/", ["ceph-osd", "ceph-mon"]),
        ("/.*osd/", ["ceph-osd"]),
        ("/^(primary-)?neutron$/", ["primary-neutron", "neutron"]),
        ("/(primary-)?neutron/", ["primary-neutron", "neutron"]),
        ("/neutron|cinder/", ["cinder", "neutron"]),
        ("/.*/", NAMES),
        ("//", []),
        ("/", []),
    ],
)
def test_name_matches_exactly_or_from_its_start(wanted: str, found: list[str]) -> None:
    assert NameMatcher().find(wanted, NAMES) == found


def test_names_that_match_any_of_several_are_found_once() -> None:
    assert NameMatcher().find_any(["/c/", "cinder"], NAMES) == {"ceph-osd", "ceph-mon", "cinder"}


@pytest.mark.parametrize("pattern", ["/(?!master).*/", "/a)(b/", "/[/", "/*/"])
def test_pattern_that_is_not_supported_is_refused_with_the_reason(pattern: str) -> None:
    with pytest.raises(InputError) as caught:
        NameMatcher().find(pattern, NAMES)
    assert issues.BAD_PATTERN.matches(caught.value)
    reason = check_name(pattern)
    assert reason is not None
    assert reason in str(caught.value)


def test_supported_names_have_no_reason_against_them() -> None:
    assert check_name("/^(primary-)?neutron$/") is None
    assert check_name("(") is None


def test_pattern_that_needs_many_states_ends_at_the_limit_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names_module, "MAX_STEPS", 100_000)
    names = [f"{pow(3, 1_000 + number, 2**200):0200b}" for number in range(30)]
    with pytest.raises(InputError) as caught:
        NameMatcher().find("/(0|1)*1(0|1){90}x/", names)
    assert issues.EXPENSIVE_PATTERNS.matches(caught.value)


def test_patterns_beyond_the_limit_of_one_plan_are_refused() -> None:
    matcher = NameMatcher()
    for number in range(MAX_EXPRESSIONS):
        matcher.find(f"/a{number}/", NAMES)
    assert matcher.find("/a1/", NAMES) == []
    with pytest.raises(InputError) as caught:
        matcher.find("/one more/", NAMES)
    assert issues.EXPENSIVE_PATTERNS.matches(caught.value)


def test_pattern_that_is_tried_on_too_many_names_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names_module, "MAX_TESTS", 2 * len(NAMES))
    matcher = NameMatcher()
    assert matcher.find("/ci/", NAMES) == matcher.find("/c.n/", NAMES) == ["cinder"]
    with pytest.raises(InputError) as caught:
        matcher.find("/x/", NAMES)
    assert issues.EXPENSIVE_PATTERNS.matches(caught.value)
