"""The exit code of `precast status`."""

import pytest

from precast.cli.nodes.status import exit_code
from precast.wire.nodes.status import Problem


@pytest.mark.parametrize(
    ("levels", "code"),
    [([], 0), (["note"], 0), (["note", "warning"], 1), (["warning", "note", "broken"], 2), (["unheard of"], 1)],
)
def test_status_ends_with_the_worst_level_and_a_note_is_none(levels: list[str], code: int) -> None:
    assert exit_code([Problem(level, "a text", "a hint") for level in levels]) == code
