"""Modes: the results of real Puppet for a thousand of them, and our own rules."""

from pathlib import Path

import pytest

from precast.base.errors import InputError
from precast.resources.files import modes

ROWS = [
    line.split("\t")
    for line in (Path(__file__).parents[3] / "spec/modes.tsv").read_text().splitlines()
    if not line.startswith("#")
]


def ours(mode: str, present: str, is_directory: bool) -> str:
    try:
        return f"{modes.parse(mode).bits(int(present, 8), is_directory):o}"
    except InputError:
        return "invalid"


def test_modes_are_as_puppet_makes_them() -> None:
    assert len(ROWS) > 1000
    # The rows are of the calculation alone; that a directory with an octal mode can be searched comes on top of it.
    wrong = [
        (mode, present, kind, wanted)
        for mode, present, kind, wanted in ROWS
        if ours(mode, present, kind == "true" and not mode.isdecimal()) != wanted
    ]
    assert wrong == []


def test_octal_mode_of_a_directory_lets_readers_enter() -> None:
    assert modes.parse("0640").bits(0o755, True) == 0o750
    assert modes.parse("0640").bits(0o755, False) == 0o640


@pytest.mark.parametrize("text", ["999", "u=zz", "", "u=rwX", "0o644", "rw-r--r--", "u+x,"])
def test_what_is_no_mode_is_refused_by_name(text: str) -> None:
    with pytest.raises(InputError, match="not a file mode") as caught:
        modes.parse(text)
    assert caught.value.code == "RESOURCE-100"
