"""Checks files of an environment in a process of its own: files come on standard input, findings leave on standard output.

The files are somebody else's text. What a parser makes of it costs this process its memory and its time, nobody else's; and it
has no rights, no network and no files to lose.
"""

import importlib
import resource
import sys
from typing import BinaryIO

import msgspec

from precast.base.errors import PrecastError
from precast.lang.syntax.validation import look_at_file
from precast.services.confinement import confine

MEMORY_BYTES = 1024**3
CPU_S = 120
MAX_SHOWN = 200
FRAME = 8  # bytes of a length


class Finding(msgspec.Struct, frozen=True):
    """What is wrong with a file, and where; both count from 1, 0 if it is about the whole file."""

    path: str
    line: int
    column: int
    code: str
    message: str
    hint: str

    def line_of(self, severity: str) -> str:
        """As compilers print it."""
        place = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        return f"{place}: {severity}: {' '.join(self.message.split())} [{self.code}]"


class Report(msgspec.Struct, frozen=True):
    """Errors and warnings, the first ones, and how many there are."""

    errors: list[Finding]
    error_count: int
    warnings: list[Finding]
    warning_count: int


class CheckedFile(msgspec.Struct, frozen=True):
    """A file as it comes in."""

    path: str
    data: bytes


def frame(path: str, data: bytes) -> bytes:
    """A file as it is sent."""
    body = msgspec.msgpack.encode(CheckedFile(path, data))
    return len(body).to_bytes(FRAME) + body


def check_all(files: BinaryIO) -> Report:
    """The findings about all files that come, until the end."""
    errors: list[Finding] = []
    warnings: list[Finding] = []
    counts = [0, 0]
    while head := files.read(FRAME):
        file = msgspec.msgpack.decode(files.read(int.from_bytes(head)), type=CheckedFile)
        found = look_at_file(file.path, file.data)
        for at, (kept, new) in enumerate(((errors, found.errors), (warnings, found.warnings))):
            counts[at] += len(new)
            kept += [_finding(file.path, one) for one in new[: max(MAX_SHOWN - len(kept), 0)]]
    return Report(errors, counts[0], warnings, counts[1])


def _finding(path: str, error: PrecastError) -> Finding:
    if error.source is None or error.span is None:
        return Finding(path, 0, 0, error.code, error.message, error.hint)
    place = error.source.position(error.span.start)
    return Finding(path, place.line, place.column, error.code, error.message, error.hint)


def main() -> int:
    # What is imported only when it is needed: afterwards nothing can be read.
    for name in ("precast.lang.ruby.syntax.parser", "precast.lang.hiera.config"):
        importlib.import_module(name)
    confine()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.buffer.write(msgspec.json.encode(check_all(sys.stdin.buffer)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
