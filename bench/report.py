"""Prints the results of a benchmark: a table, and as the last line one JSON object with the figures and the goals.

A full run also writes bench/results/NAME.json with command and date; a quick run writes and reads no file.
"""

import argparse
import datetime
import json
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

RESULTS = Path(__file__).parent / "results"


class Goal(msgspec.Struct, frozen=True):
    """A goal of a benchmark. `met` is None, with a reason, if this run did not measure it."""

    goal: str
    value: float | None
    target: float
    met: bool | None
    why: str | None = None


def parse_quick(description: str | None) -> bool:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under a minute; writes nothing")
    return bool(parser.parse_args().quick)


def print_rows(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for row in [list(heads), *cells]:
        first, *others = zip(row, widths, strict=True)
        print("  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip())


def finish(name: str, is_quick: bool, figures: dict[str, Any], goals: Sequence[Goal]) -> None:
    """Print the last line; a full run also writes it to a file."""
    result = {
        "bench": name,
        "command": f".venv/bin/python bench/{name}.py" + (" --quick" if is_quick else ""),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        "figures": figures,
        "goals": [
            {key: value for key, value in msgspec.to_builtins(goal).items() if key != "why" or value} for goal in goals
        ],
    }
    if not is_quick:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result))
    sys.stdout.flush()


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return (
        f"{value:,.2f}"
        if isinstance(value, float) and abs(value) < 100
        else f"{value:,.0f}"
        if isinstance(value, float)
        else str(value)
    )
