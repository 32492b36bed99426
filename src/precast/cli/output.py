"""How commands print: tables for people, one JSON document with `--json` for programs."""

import json
from collections.abc import Sequence
from typing import Any

from precast.base.spans import visible


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under their column heads, numbers to the right; nothing but the heads if there are no rows."""
    cells = [[visible(_cell(value)) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    is_number = [bool(rows) and all(isinstance(row[at], int | float) for row in rows) for at in range(len(columns))]
    for row in [list(columns), *cells]:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_number, strict=True)
        )
        print("  ".join(padded).rstrip())


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def _cell(value: object) -> str:
    return "-" if value is None else str(value)
