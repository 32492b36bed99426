"""Configures the daemon's log: standard error, with systemd's level prefixes if the journal reads it, or a file that may be rotated."""

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from precast.agent import issues
from precast.base.files import make_directories
from precast.base.spans import visible

# The levels of syslog, which the journal reads at the beginning of a line.
_LEVELS = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


class _LineFormatter(logging.Formatter):
    """Writes a message as one line: it may contain what a server said. The lines of an exception follow it."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name that logging calls
        return visible(super().formatMessage(record).replace("\n", " "))


class _JournalFormatter(_LineFormatter):
    """Writes the level and no time, because the journal records the time itself."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record).replace("\n", " ")
        return f"<{_LEVELS.get(record.levelno, 6)}>{text}"


def set_up(level: str, file: Path | None, environment: Mapping[str, str]) -> None:
    """Replace the log handlers by one for this level and file. Raises UnavailableError AGENT-015."""
    handler: logging.Handler
    if file is not None:
        from logging.handlers import WatchedFileHandler

        try:
            make_directories(file.parent)
            # The handler would create the file with a mode that depends on the umask; an existing file keeps its mode.
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC, 0o640))
            handler = WatchedFileHandler(file, encoding="utf-8")
        except OSError as error:
            raise issues.NO_LOG.error(path=file, reason=error.strerror) from error
    else:
        handler = logging.StreamHandler(sys.stderr)
    is_journal = file is None and _is_journal(environment)
    plain = _LineFormatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S%z")
    handler.setFormatter(_JournalFormatter("%(message)s") if is_journal else plain)
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(level.upper())
    # The libraries log single frames and handshakes; the agent logs the end of a connection itself, once.
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.WARNING)


def _is_journal(environment: Mapping[str, str]) -> bool:
    """Whether standard error is the stream that systemd names; a shell below the service may have inherited the variable."""
    status = os.fstat(sys.stderr.fileno())
    return environment.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"
