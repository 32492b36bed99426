"""Decisions upon fact sets of one node that follow each other, without a database."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from precast.base import canonical, digests
from precast.services.facts.decisions import COMPILE_BURST, decide
from precast.store.engine.compression import compress
from precast.store.facts.facts import FactSet, ReceivedFacts

START = datetime(2026, 11, 1, tzinfo=UTC)


def decide_each(sets: list[dict[str, Any]]) -> list[FactSet]:
    """Decide upon each set, a second after the one before; every change matters."""
    decided: list[FactSet] = []
    for at, facts in enumerate(sets):
        now = START + timedelta(seconds=at)
        stable = canonical.encode(facts)
        received = ReceivedFacts("web1", digests.of_bytes(stable), compress(stable), b"{}", now)
        decided.append(decide(received, decided[-1] if decided else None, None, now)[0])
    return decided


def new(prefix: str, at: int) -> dict[str, int]:
    """Names that every set has, and two more with each set."""
    return {f"{prefix}{number}": 1 for number in range(2 * at + 2)}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (lambda at: {"packages": new("lib", at)}, ["/packages"]),
        (lambda at: {"os": {"a": new("x", at)}, "kernel": "6.1"}, ["/os/a"]),
        (lambda at: {"os": {"a": new("x", at), "b": new("x", at)}}, ["/os"]),
        (lambda at: {"a": new("x", at), "b": new("x", at)}, ["/a"]),
        (lambda at: {"colour": at, "packages": new("lib", at)}, ["/colour"]),
    ],
    ids=["in one", "inside another", "around two", "nothing around", "one that changes again"],
)
def test_flapping_is_reported_as_the_path_that_changes_again_or_else_as_the_path_around_the_changes(
    facts: Callable[[int], dict[str, Any]], expected: list[str]
) -> None:
    decided = decide_each([facts(at) for at in range(COMPILE_BURST + 3)])
    assert [fact_set.flapping for fact_set in decided] == [[]] * COMPILE_BURST + [expected] * 3


def test_path_that_changes_every_time_is_left_out_of_the_history_in_the_end() -> None:
    decided = decide_each([{"colour": at, "packages": new("lib", at)} for at in range(10)])
    named = ["/colour" in [change.path for change in fact_set.changes] for fact_set in decided]
    assert named == [False] + [True] * 5 + [False] * 4
    assert decided[-1].decision.startswith("2 changed: compile")
