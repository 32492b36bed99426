"""The output of commands: tables for people, one JSON document with `--json` for programs.

Commands use `print`. Around them, `watched_stdout` distinguishes failures of standard output from all others: a closed pipe to a pager and
a lost connection to a server raise the same BrokenPipeError.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TextIO, cast

from precast.base.spans import visible, width


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under their column heads, with numbers aligned to the right. Without rows, only the heads are printed."""
    StreamedTable().add(columns, rows)


class StreamedTable:
    """A table whose rows are printed page by page. The first page decides the widths of the columns; a later page may only widen them."""

    def __init__(self) -> None:
        self._widths: list[int] = []
        self._is_right: list[bool] = []

    def add(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Print rows, with the column heads before the first ones."""
        cells = [[visible(_cell(value)) for value in row] for row in rows]
        is_first = not self._widths
        lines = [list(columns), *cells] if is_first else cells
        blanks = [" " * size for size in self._widths or [0] * len(columns)]
        self._widths = [max(map(width, column)) for column in zip(blanks, *lines, strict=True)]
        if is_first:
            self._is_right = [_are_numbers([row[index] for row in rows]) for index in range(len(columns))]
        for line in lines:
            padded = (
                _pad(cell, size, right) for cell, size, right in zip(line, self._widths, self._is_right, strict=True)
            )
            print("  ".join(padded).rstrip())
        print(end="", flush=True)


class StreamedJson:
    """A JSON array whose values are printed page by page: the same text as `print_json` prints for all of them."""

    def __init__(self) -> None:
        self._is_begun = False

    def add(self, values: Iterable[Any]) -> None:
        """Print further values. Raises ValueError for NaN."""
        import json

        for value in values:
            text = json.dumps(value, indent=2, allow_nan=False).replace("\n", "\n  ")
            print(f"{',' if self._is_begun else '['}\n  {text}", end="")
            self._is_begun = True
        print(end="", flush=True)

    def finish(self) -> None:
        print("\n]" if self._is_begun else "[]")


def format_time(at: datetime | None) -> str | None:
    """Format a time for a table."""
    return None if at is None else at.strftime("%Y-%m-%d %H:%M:%SZ")


def print_json(value: Any) -> None:
    """Print one JSON document in ASCII, which every locale and terminal can show. Raises ValueError for NaN."""
    import json

    print(json.dumps(value, indent=2, allow_nan=False))


def _cell(value: object) -> str:
    return "-" if value is None else str(value)


def _are_numbers(values: Sequence[object]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in present)


def _pad(cell: str, columns: int, is_right: bool) -> str:
    blanks = " " * (columns - width(cell))
    return blanks + cell if is_right else cell + blanks


class OutputFailed(Exception):
    """Standard output cannot be written. It is not an OSError, so that commands do not handle it as a failure of their own files."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class _WatchedStream:
    """A stream that raises OutputFailed instead of OSError."""

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
    """Print in UTF-8 whatever the locale, and flush at the end. Raises OutputFailed if standard output cannot be written."""
    stream = sys.stdout
    if stream is None:  # the parent process has closed it: print() ignores that too
        yield
        return
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    watched = _WatchedStream(stream)
    with contextlib.redirect_stdout(cast(TextIO, watched)):
        yield
    watched.flush()


def discard(stream: TextIO) -> None:
    """Discard the stream's buffered text: otherwise the interpreter writes it at exit, fails, and ends with a code of its own."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream.fileno())
    os.close(devnull)
