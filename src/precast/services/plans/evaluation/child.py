"""Evaluates the expressions of a plan, in a process that can be killed.

It reads requests from standard input and writes replies to standard output, and can reach nothing else. Each expression has a limit of
processor time: at first it is interrupted, and a second later, if it is inside a single operation, the kernel ends the process.
`python -I -m precast.services.plans.evaluation.child LEVEL MEMORY_BYTES EXPRESSION_S`.
"""

import importlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

from precast.base.confinement.children import ASK, confine_or_exit, write_answer
from precast.base.confinement.confine import Confinement, Level
from precast.base.frames import make_frame, read_frame
from precast.services.plans.evaluation.failures import OutOfTime
from precast.services.plans.evaluation.messages import decode_request, encode
from precast.services.plans.evaluation.worker import Worker

# The exit code of a process that has reached its memory limit.
OUT_OF_MEMORY: Final = 71
# An expression of thousands of nested parts needs this much; the stack of the process suffices for it.
RECURSION_LIMIT: Final = 5_000
# How much longer than the limit one operation may take before the kernel ends the process.
GRACE_S: Final = 1.0


def main() -> int:
    level, memory_bytes, expression_s = Level(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    worker = Worker(lambda: _limited(expression_s))

    def interrupt(number: int, frame: Any) -> None:
        raise OutOfTime

    importlib.import_module("difflib")  # suggests names; what is imported late cannot be found later
    signal.signal(signal.SIGPROF, interrupt)
    sys.setrecursionlimit(RECURSION_LIMIT)
    measures = confine_or_exit(Confinement(level=level, memory_bytes=memory_bytes))
    if sys.argv[4:] == [ASK]:
        write_answer(measures)
        return 0
    try:
        _serve(worker.answer, sys.stdin.buffer, sys.stdout.buffer)
    except MemoryError:
        # Nothing can be cleaned up without memory: the exit code tells the server.
        os._exit(OUT_OF_MEMORY)
    except BrokenPipeError:
        pass
    return 0


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Limit the processor time of what is done inside. Raises OutOfTime there."""
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds + GRACE_S)  # its signal ends the process
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _serve(answer: Any, reader: BinaryIO, writer: BinaryIO) -> None:
    while (data := read_frame(reader)) is not None:
        writer.write(make_frame(encode(answer(decode_request(data)))))
        writer.flush()


if __name__ == "__main__":
    sys.exit(main())
