"""How commands print: tables for people, one JSON document with `--json` for programs.

A command just prints. Around it, `watched_stdout` tells a failure of standard output from every other failure: a closed pipe to
a pager and a lost connection to a server are the same BrokenPipeError.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, TextIO, cast

from precast.base.spans import visible, width


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under their column heads, numbers to the right; nothing but the heads if there are no rows."""
    cells = [[visible(_cell(value)) for value in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(columns, *cells, strict=True)]
    is_right = [_are_numbers([row[at] for row in rows]) for at in range(len(columns))]
    for row in [list(columns), *cells]:
        padded = (_pad(cell, size, right) for cell, size, right in zip(row, widths, is_right, strict=True))
        print("  ".join(padded).rstrip())


def moment(at: datetime | None) -> str | None:
    """A time as tables show it."""
    return None if at is None else at.strftime("%Y-%m-%d %H:%M:%SZ")


def print_json(value: Any) -> None:
    """Print one document, in ASCII: no locale, terminal or lone surrogate can spoil it. Raises ValueError for NaN."""
    import json

    print(json.dumps(value, indent=2, allow_nan=False))


def _cell(value: object) -> str:
    return "-" if value is None else str(value)


def _are_numbers(values: Sequence[object]) -> bool:
    given = [value for value in values if value is not None]
    return bool(given) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in given)


def _pad(cell: str, columns: int, is_right: bool) -> str:
    blanks = " " * (columns - width(cell))
    return blanks + cell if is_right else cell + blanks


class OutputFailed(Exception):
    """Standard output cannot be written. No OSError, so that no command takes it for a failure of its own files."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class _Watched:
    """A stream whose failures are OutputFailed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            raise OutputFailed(error) from error

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputFailed(error) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def watched_stdout() -> Iterator[None]:
    """What is printed inside is UTF-8 in any locale, and written out at the end. Raises OutputFailed if it cannot be."""
    stream = sys.stdout
    if stream is None:  # closed by whoever started us: print() knows that too
        yield
        return
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    watched = _Watched(stream)
    with contextlib.redirect_stdout(cast(TextIO, watched)):
        yield
    watched.flush()


def discard(stream: TextIO) -> None:
    """Let go of what is still to be written: the interpreter would try again when it ends, and fail with a code of its own."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
