"""How a message becomes a line of a log.

A message may contain what a node, a server or the author of code wrote: it never becomes two lines, and controls no terminal. Under systemd
the journal records the time, and gets the level at the beginning of the line; everywhere else a line begins with its time in UTC.
"""

import logging
import os
import sys
import time
from collections.abc import Mapping

from precast.base.spans import visible

# Longer lines are cut: a message contains at most a few names and one error.
MAX_CHARACTERS = 4000
# The levels of syslog, which the journal reads at the beginning of a line.
_LEVELS = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


class LineFormatter(logging.Formatter):
    """Writes a message as one line that begins with the time; an exception follows in the same line."""

    converter = staticmethod(time.gmtime)

    def __init__(self, text: str = "%(levelname)s %(message)s", *, has_time: bool = True) -> None:
        super().__init__(f"%(asctime)s {text}" if has_time else text, "%Y-%m-%dT%H:%M:%SZ")

    def format(self, record: logging.LogRecord) -> str:
        lines = [line.strip() for line in super().format(record).splitlines()]
        text = visible(" | ".join(line for line in lines if line) if record.exc_info else " ".join(lines))
        return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"


class JournalFormatter(LineFormatter):
    """Writes the level as the journal reads it, and no time, because the journal records the time itself."""

    def __init__(self, text: str = "%(message)s") -> None:
        super().__init__(text, has_time=False)

    def format(self, record: logging.LogRecord) -> str:
        return f"<{_LEVELS.get(record.levelno, 6)}>{super().format(record)}"


def is_journal(environment: Mapping[str, str]) -> bool:
    """Whether standard error is the stream that systemd names; a shell below the service may have inherited the variable."""
    status = os.fstat(sys.stderr.fileno())
    return environment.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def replace_handlers(handler: logging.Handler) -> None:
    """Let all messages of this process go to one handler."""
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
