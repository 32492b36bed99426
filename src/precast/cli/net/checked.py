"""Checks the net in one file, within limits of states, memory and time, so that it always ends with an answer.

The search stops at its own limits. A net that takes more memory to read or to analyse than a check may have, and a file that is too large,
are not proven, like a search that was cut.
"""

import contextlib
import resource
import time
from collections.abc import Iterator
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.cli import issues
from precast.cli.net.sources import read_net
from precast.net import issues as net_issues
from precast.net.analysis import check as checking
from precast.net.analysis.deadlock import DeadlockAnswer, Verdict
from precast.net.model.compiler import MOST
from precast.net.model.structure import Net

WITHIN_S = 60.0
MEMORY_BYTES = 3 << 30


class Checked(NamedTuple):
    """The outcome for one file: a net with its report, only a verdict where reading took too much, or an error."""

    path: str
    elapsed_s: float
    net: Net | None = None
    report: checking.Report | None = None
    error: PrecastError | None = None

    @property
    def verdict(self) -> Verdict | None:
        return self.report.deadlock.verdict if self.report else None


def check_file(path: str, bound: int | None, within_s: float | None) -> Checked:
    """Check the net in a file; without any bound, for a minute and a number of states that depends on the net's size."""
    started = time.monotonic()
    until = started + (within_s or WITHIN_S)
    bound = MOST if within_s and bound is None else bound
    reason = "the check takes more memory than it may have"
    # In an `except` clause the error still refers to all that memory, so the answer is made after it.
    with contextlib.suppress(MemoryError):
        try:
            with _memory_limited():
                net = read_net(path)
                report = checking.check(net, bound, lambda: until - time.monotonic())
            return Checked(path, time.monotonic() - started, net, report)
        except PrecastError as error:
            if not issues.TOO_LARGE.matches(error):
                return Checked(path, time.monotonic() - started, error=error)
            reason = error.message
    return Checked(path, time.monotonic() - started, report=_unproven(reason))


@contextlib.contextmanager
def _memory_limited() -> Iterator[None]:
    """Let the program's allocations fail beyond a limit, with a MemoryError, before the system ends a process for its memory."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limits = [limit for limit in (soft, hard, MEMORY_BYTES) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _unproven(reason: str) -> checking.Report:
    error = net_issues.TOO_LARGE_TO_CHECK.error(reason=reason)
    finding = checking.Finding("warning", error.code, error.message, error.hint)
    return checking.Report((finding,), DeadlockAnswer(Verdict.NOT_PROVEN, reason))
