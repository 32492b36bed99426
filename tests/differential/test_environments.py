"""Whole environments over real modules: what Precast compiles is what Puppet compiles, but for the listed rules."""

import collections
import re
from pathlib import Path

import pytest

from lab.differential import catalogs, comparison, environment
from tests.differential.conftest import Compiled, compile_all

# In the soak: environments with five machines each, and how many catalogs must be equal without any rule.
ALL_NUMBERS = environment.NUMBERS
LEAST_EQUAL = 0.95


def compare(compiled: Compiled) -> tuple[list[str], collections.Counter[str]]:
    """What no rule covers, and how many cases are equal, differ by rule, or differ."""
    ours = catalogs.PrecastAnswers(compiled.place)
    unexpected: list[str] = []
    counts: collections.Counter[str] = collections.Counter()
    for name, made, machine in compiled.cases:
        found = list(comparison.differences(compiled.puppets[name], ours.answer(made.name, machine)))
        left = [each for each in found if comparison.expected_by(each) is None]
        unexpected += [f"{name}: {str(each)[:400]}" for each in left[:3]]
        counts["differ" if left else "by rule" if found else "equal"] += 1
        counts["compiling"] += not compiled.puppets[name].get("error")
    return unexpected, counts


@pytest.mark.timeout(300)  # Puppet compiles for both files of tests
def test_catalogs_are_equal_but_for_the_rules(compiled: Compiled) -> None:
    unexpected, counts = compare(compiled)
    assert counts["compiling"] >= len(compiled.cases) * 0.7, "most environments must compile, or little is compared"
    assert unexpected == [], f"seed {compiled.seed}\n" + "\n".join(unexpected)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_all_environments_are_equal_but_for_the_rules(
    puppet_and_modules: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    compiled = compile_all(tmp_path_factory.mktemp("all"), ALL_NUMBERS, machines=5)
    unexpected, counts = compare(compiled)
    print(f"seed {compiled.seed}: {len(ALL_NUMBERS)} environments, {len(compiled.cases)} catalogs, {dict(counts)}")
    assert unexpected == [], "\n".join(unexpected)
    assert counts["equal"] >= len(compiled.cases) * LEAST_EQUAL


def test_rules_have_reasons_stand_in_the_docs_and_are_no_exceptions_for_cases() -> None:
    page = (Path(__file__).parents[2] / "docs/explanation/equality.md").read_text(encoding="utf-8")
    for rule in comparison.rules():
        assert f"`{rule.name}`" in page
        assert len(rule.reason) > 40
        assert not re.search(r"e\d{3}|profile::|role::", f"{rule.place}{rule.detail}"), "a rule goes by what differs"
