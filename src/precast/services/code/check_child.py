"""Checks the files of an environment in a child process: it reads files from standard input and writes findings to standard output.

The files are untrusted. Parsing them can exhaust only the memory and the time of this process, which has no privileges, no network
and no access to files.
"""

import importlib
import sys
from typing import BinaryIO

import msgspec

from precast.base.confinement.children import ASK, confine_or_exit, write_answer
from precast.base.confinement.confine import Confinement, Level
from precast.base.errors import PrecastError
from precast.lang.syntax.validation import validate_file

MEMORY_BYTES = 1024**3
CPU_S = 120
MAX_SHOWN = 200
LENGTH_BYTES = 8


class Finding(msgspec.Struct, frozen=True):
    """An error or warning in a file. Line and column count from 1; both are 0 if it concerns the whole file."""

    path: str
    line: int
    column: int
    code: str
    message: str
    hint: str

    def render(self, severity: str) -> str:
        """Render the finding in one line, as compilers print it."""
        place = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        return f"{place}: {severity}: {' '.join(self.message.split())} [{self.code}]"


class CheckReport(msgspec.Struct, frozen=True):
    """The first errors and warnings, and the number of all of them."""

    errors: list[Finding]
    error_count: int
    warnings: list[Finding]
    warning_count: int


class CheckedFile(msgspec.Struct, frozen=True):
    """A file as the parent process sends it."""

    path: str
    data: bytes


def encode_file(path: str, data: bytes) -> bytes:
    """Encode a file for the child process: its length, then its body."""
    body = msgspec.msgpack.encode(CheckedFile(path, data))
    return len(body).to_bytes(LENGTH_BYTES) + body


def check_all(files: BinaryIO) -> CheckReport:
    """Check all files until the end of the input."""
    errors: list[Finding] = []
    warnings: list[Finding] = []
    counts = [0, 0]
    while length := files.read(LENGTH_BYTES):
        file = msgspec.msgpack.decode(files.read(int.from_bytes(length)), type=CheckedFile)
        checked = validate_file(file.path, file.data)
        for index, (shown, new) in enumerate(((errors, checked.errors), (warnings, checked.warnings))):
            counts[index] += len(new)
            shown += [_finding(file.path, error) for error in new[: max(MAX_SHOWN - len(shown), 0)]]
    return CheckReport(errors, counts[0], warnings, counts[1])


def _finding(path: str, error: PrecastError) -> Finding:
    if error.source is None or error.span is None:
        return Finding(path, 0, 0, error.code, error.message, error.hint)
    place = error.source.position(error.span.start)
    return Finding(path, place.line, place.column, error.code, error.message, error.hint)


def main() -> int:
    # Lazily imported modules are loaded now, because a confined process cannot read files.
    for name in ("precast.lang.ruby.erb.parser", "precast.lang.hiera.config"):
        importlib.import_module(name)
    measures = confine_or_exit(Confinement(level=Level(sys.argv[1]), memory_bytes=MEMORY_BYTES, cpu_s=CPU_S))
    if sys.argv[2:] == [ASK]:
        write_answer(measures)
        return 0
    sys.stdout.buffer.write(msgspec.json.encode(check_all(sys.stdin.buffer)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
