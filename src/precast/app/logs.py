"""Configures the log of a server and of a signer: standard error, with systemd's level prefixes if the journal reads it."""

import logging
import sys
from collections.abc import Mapping

from precast.base.logs.limits import KindLimit
from precast.base.logs.lines import JournalFormatter, LineFormatter, is_journal, replace_handlers

LEVELS = ("debug", "info", "warning", "error")


def set_up(level: str, environment: Mapping[str, str]) -> None:
    """Log to standard error. Libraries log only what needs attention: they describe single requests and frames."""
    handler = logging.StreamHandler(sys.stderr)
    in_journal = is_journal(environment)
    handler.setFormatter(
        JournalFormatter("%(name)s: %(message)s")
        if in_journal
        else LineFormatter("%(levelname)s %(name)s: %(message)s")
    )
    handler.addFilter(KindLimit())
    replace_handlers(handler)
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger("precast").setLevel(level.upper())
