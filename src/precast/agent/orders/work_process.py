"""A process that may change this node: it holds the node's lease while it works, so there is one at a time."""

from datetime import timedelta
from typing import NamedTuple

# How long such a process waits for the lease: a person may have started a run by hand.
WAIT_S = 600


class WorkProcess(NamedTuple):
    """How a process is started, and how long it may take."""

    arguments: list[str]  # of `precast`
    order: str = ""  # the id of the order that it carries out, if there is one
    limit: timedelta | None = None  # None for the limit of a run
    stops_with_daemon: bool = True  # it is asked to stop when the daemon ends
