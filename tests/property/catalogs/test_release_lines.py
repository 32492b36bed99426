"""The releases of a node against a model that keeps its line as a list: random releases, steps back, and returns to any release."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from precast.services.catalogs.release_lines import ROLLED_BACK, SERVED, is_rolled_back, line_of, states_of
from precast.store.catalogs.released import ReleaseStep

NOW = datetime(2026, 11, 18, tzinfo=UTC)
# A release, one step back, or a return to one of the releases so far.
OPERATIONS = st.lists(st.one_of(st.just("release"), st.just("back"), st.integers(0, 30)), max_size=40)


class Node:
    """The rows as the store adds them, beside the model: each release with the whole line that it was made on."""

    def __init__(self) -> None:
        self.rows: list[ReleaseStep] = []
        self.lines: dict[int, list[int]] = {}
        self.line: list[int] = []

    def add(self, digest: str, origin: int, parent: int | None) -> None:
        number = len(self.rows) + 1
        self.rows.insert(0, ReleaseStep("n", number, digest, "s", "e", "v", NOW, "x", number, origin, origin, parent))

    def release(self) -> None:
        number = len(self.rows) + 1
        self.add(f"d{number}", number, self.rows[0].origin if self.rows else None)
        self.line = [number, *self.line]
        self.lines[number] = self.line

    def restore(self, number: int) -> None:
        source = next(row for row in self.rows if row.number == number)
        self.add(source.digest, source.origin, source.parent)
        self.line = self.lines[source.origin]

    def back(self) -> None:
        if self.rows and self.rows[0].parent is not None:
            assert self.rows[0].parent == self.line[1], "one step back is the next of the model's line"
            self.restore(self.rows[0].parent)
        else:
            assert len(self.line) < 2


@given(OPERATIONS)
def test_line_and_states_are_those_of_the_model(operations: list[str | int]) -> None:
    node = Node()
    for operation in operations:
        if operation == "release":
            node.release()
        elif operation == "back":
            node.back()
        elif node.rows:
            node.restore(int(operation) % len(node.rows) + 1)
        assert line_of(node.rows) == node.line
        states = states_of(node.rows)
        assert set(states) == set(node.lines)
        assert [number for number, state in states.items() if state == SERVED] == node.line[:1]
        assert {number for number, state in states.items() if state == ROLLED_BACK} == set(node.lines) - set(node.line)
        for number in node.lines:
            assert is_rolled_back(node.rows, f"d{number}") == (number not in node.line)


@given(OPERATIONS)
def test_steps_back_never_serve_a_release_that_was_rolled_back(operations: list[str | int]) -> None:
    node = Node()
    for operation in operations:
        if operation == "release":
            node.release()
    rolled_back: set[int] = set()
    while node.rows and node.rows[0].parent is not None:
        rolled_back.add(node.rows[0].origin)
        node.back()
        assert node.rows[0].origin not in rolled_back
