"""Exports the audit log: JSON lines, or lines of syslog (RFC 5424), to standard output or a file, once or for ever.

An export continues where an earlier one ended, by the place that it has reached in each chain. An id would not do: of two entries of two
servers, the one with the lower id may be committed later. A line is written at least once: the position is stored after the lines.
"""

import argparse
import heapq
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self, TextIO

import msgspec

from precast.base.errors import UnavailableError
from precast.base.files import write_private
from precast.base.spans import visible
from precast.cli import issues
from precast.wire.identity.audit import ChainedEntry, ChainHead, ChainPage

POLL_S = 2.0
# Lines between two stored positions.
BATCH = 1000
# The facility "log audit" and the severity "notice".
PRIORITY = 13 * 8 + 5
# The name of our structured data; 32473 is the number that RFC 5612 reserves for examples.
STRUCTURE = "precast@32473"
MAX_MESSAGE_ID = 32

Position = dict[str, int]
ReadHeads = Callable[[], list[ChainHead]]
ReadChain = Callable[[str, int], Iterator[ChainPage]]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--follow", action="store_true", help="go on with new entries until the command is interrupted")
    parser.add_argument("--format", choices=sorted(FORMATS), default="json", help="the form of a line (default: json)")
    parser.add_argument("--output", metavar="FILE", type=Path, help="append to this file instead of standard output")
    parser.add_argument(
        "--position",
        metavar="FILE",
        type=Path,
        help="continue where the last export with this file ended, and store where this one ends",
    )
    parser.add_argument("--after", metavar="ID", help="begin after the entry with this id, instead of with the first")


def run(args: argparse.Namespace, read_heads: ReadHeads, read_chain: ReadChain) -> int:
    position = _load(args.position)
    export = _Export(FORMATS[args.format], args.output, args.position, position)
    if args.after is not None:
        export.skip_to(args.after, read_heads, read_chain)
    with export:
        while True:
            try:
                export.write(read_heads, read_chain)
            except UnavailableError as error:
                if not args.follow:
                    raise
                print(f"precast: warning: {error.message} [{error.code}]; trying again", file=sys.stderr)
            if not args.follow:
                return 0
            time.sleep(POLL_S)


class _Export:
    """The lines of one export, and the place that it has reached in each chain."""

    def __init__(
        self, form: "Callable[[ChainedEntry], str]", output: Path | None, position_file: Path | None, position: Position
    ) -> None:
        self._form = form
        self._output = output
        self._position_file = position_file
        self._position = position
        self._stream: TextIO = sys.stdout

    def __enter__(self) -> Self:
        if self._output is not None:
            try:
                handle = os.open(self._output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise issues.NOT_WRITTEN.error(path=self._output, reason=error.strerror) from error
            self._stream = os.fdopen(handle, "w", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        if self._output is not None:
            self._stream.close()

    def skip_to(self, id_: str, read_heads: ReadHeads, read_chain: ReadChain) -> None:
        """Begin the chain of this entry right after it, and the others with their first greater id. Raises NotFoundError CLI-029."""
        is_found = False
        for head in read_heads():
            entries = list(_entries(read_chain(head.chain, 0)))
            found = next((entry.sequence for entry in entries if entry.id == id_), None)
            lower = next((entry.sequence - 1 for entry in entries if entry.id > id_), head.sequence)
            self._position[head.chain] = lower if found is None else found
            is_found = is_found or found is not None
        if not is_found:
            raise issues.NO_ENTRY.error(id=id_)

    def write(self, read_heads: ReadHeads, read_chain: ReadChain) -> None:
        """Write all entries after the position, those of all chains by time."""
        chains = [_entries(read_chain(head.chain, self._position.get(head.chain, 0))) for head in read_heads()]
        count = 0
        for entry in heapq.merge(*chains, key=lambda entry: entry.id):
            self._stream.write(self._form(entry) + "\n")
            self._position[entry.chain] = entry.sequence
            count += 1
            if count % BATCH == 0:
                self._store()
        if count % BATCH:
            self._store()

    def _store(self) -> None:
        """Flush the lines, then store the position: after a crash, lines may be repeated, and none is missing."""
        try:
            self._stream.flush()
            if self._output is not None:
                os.fsync(self._stream.fileno())
        except OSError as error:
            raise issues.NOT_WRITTEN.error(path=self._output or "standard output", reason=error.strerror) from error
        if self._position_file is None:
            return
        try:
            write_private(self._position_file, msgspec.json.encode(self._position, order="sorted"))
        except OSError as error:
            raise issues.NOT_WRITTEN.error(path=self._position_file, reason=error.strerror) from error


def _entries(pages: Iterator[ChainPage]) -> Iterator[ChainedEntry]:
    for page in pages:
        yield from page.entries


def _load(path: Path | None) -> Position:
    if path is None:
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=Position)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise issues.NO_FILE.error(path=path, reason=error.strerror) from error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise issues.BAD_POSITION.error(path=path) from None


def as_json(entry: ChainedEntry) -> str:
    """One line of JSON, with the detail as an object. Its canonical form is what the hash covers."""
    fields = msgspec.to_builtins(entry)
    try:
        fields["detail"] = msgspec.json.decode(entry.detail)
    except msgspec.MsgspecError:  # somebody has changed it; the text says more than nothing
        fields["detail"] = entry.detail
    return msgspec.json.encode(fields).decode()


def as_syslog(entry: ChainedEntry) -> str:
    """One line of RFC 5424. Host and process are those of the chain, the message is the detail."""
    host, _, number = entry.chain.partition("/")
    at = entry.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    fields = ("id", "actor", "target", "chain", "sequence", "previous", "hash")
    values = "".join(f' {name}="{_escape(str(getattr(entry, name)))}"' for name in fields)
    head = f"<{PRIORITY}>1 {at} {_word(host, 255)} precast {_word(number, 128)} {_word(entry.action, MAX_MESSAGE_ID)}"
    return f"{head} [{STRUCTURE}{values}] {visible(entry.detail)}"


def _word(text: str, most: int) -> str:
    """A field of the header: printable ASCII without blanks, or a dash."""
    return "".join(char if "!" <= char <= "~" else "_" for char in text)[:most] or "-"


def _escape(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")
    return visible(escaped)


FORMATS: dict[str, Callable[[ChainedEntry], str]] = {"json": as_json, "syslog": as_syslog}
