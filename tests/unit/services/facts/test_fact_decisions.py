"""What comes of sets of facts that follow each other, without a database."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from precast.base import canonical, digests
from precast.services.facts.decisions import COMPILE_BURST, decide
from precast.store.engine.compression import pack
from precast.store.facts.facts import Decided, FactSet, Received, Waiting

START = datetime(2026, 11, 1, tzinfo=UTC)


def decided(sets: list[dict[str, Any]]) -> list[Decided]:
    """What comes of each set, a second after the one before; every change matters."""
    found: list[Decided] = []
    for at, facts in enumerate(sets):
        now = START + timedelta(seconds=at)
        stable = canonical.encode(facts)
        came = Received("web1", digests.of_bytes(stable), pack(stable), b"{}", now)
        found.append(decide(Waiting(came, _stored(found), at), None, now)[0])
    return found


def _stored(found: list[Decided]) -> FactSet | None:
    if not found:
        return None
    one = found[-1]
    return FactSet(
        one.came.digest,
        one.came.stable,
        one.came.received_at,
        one.decision,
        one.decided_at,
        one.allowed_at,
        one.recent,
    )


def new(prefix: str, at: int) -> dict[str, int]:
    """Names that are there from the first set on, and two more with each."""
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
def test_who_asks_too_often_is_named_by_what_changes_again_or_else_by_what_it_is_in(
    facts: Callable[[int], dict[str, Any]], expected: list[str]
) -> None:
    found = decided([facts(at) for at in range(COMPILE_BURST + 3)])
    assert [one.flapping for one in found] == [[]] * COMPILE_BURST + [expected] * 3


def test_path_that_changes_every_time_is_left_out_of_the_history_in_the_end() -> None:
    found = decided([{"colour": at, "packages": new("lib", at)} for at in range(10)])
    named = ["/colour" in [change.path for change in one.changes] for one in found]
    assert named == [False] + [True] * 5 + [False] * 4
    assert found[-1].decision.startswith("2 changed: compile")
