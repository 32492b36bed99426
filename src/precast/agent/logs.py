"""Where the daemon logs: standard error, with systemd's levels if the journal reads it, or a file that may be rotated away."""

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from precast.agent import issues

# Of syslog, as the journal reads them at the beginning of a line.
_LEVELS = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


class _ForJournal(logging.Formatter):
    """The journal has the time; it wants to know the level."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record).replace("\n", " ")
        return f"<{_LEVELS.get(record.levelno, 6)}>{text}"


def set_up(level: str, file: Path | None, environment: Mapping[str, str]) -> None:
    """Log from now on in this way, and in no other. Raises UnavailableError AGENT-015."""
    handler: logging.Handler
    if file is not None:
        from logging.handlers import WatchedFileHandler

        try:
            file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            handler = WatchedFileHandler(file, encoding="utf-8")
        except OSError as error:
            raise issues.NO_LOG.error(path=file, reason=error.strerror) from error
    else:
        handler = logging.StreamHandler(sys.stderr)
    is_journal = file is None and _is_journal(environment)
    form = logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S%z")
    handler.setFormatter(_ForJournal("%(message)s") if is_journal else form)
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(level.upper())
    # What a library says about single frames and handshakes is said by us, once.
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.WARNING)


def _is_journal(environment: Mapping[str, str]) -> bool:
    """Whether standard error is what systemd said; a shell below it may have the variable too."""
    found = os.fstat(sys.stderr.fileno())
    return environment.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"
