"""Configures the daemon's log: standard error, with systemd's level prefixes if the journal reads it, or a file that may be rotated."""

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from precast.agent import issues
from precast.base.files import make_directories
from precast.base.logs.limits import KindLimit
from precast.base.logs.lines import JournalFormatter, LineFormatter, is_journal, replace_handlers


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
    handler.setFormatter(JournalFormatter() if file is None and is_journal(environment) else LineFormatter())
    handler.addFilter(KindLimit())
    replace_handlers(handler)
    root = logging.getLogger()
    root.setLevel(level.upper())
    # The libraries log single frames and handshakes; the agent logs the end of a connection itself, once.
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
