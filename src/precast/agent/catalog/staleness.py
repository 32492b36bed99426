"""Whether the cached catalog may be stale: whether a server could confirm that it is still the one released to this node.

When no server can be asked, runs continue with the cached catalog, and each of them reports since when it is unconfirmed, and why.
"""

from datetime import datetime
from typing import NamedTuple

from precast.agent.state.status_notes import ConnectionNote, FetchNote
from precast.agent.state.store import LocalStore


class Staleness(NamedTuple):
    """What a run reports about the catalog it applies."""

    is_stale: bool = False
    since: datetime | None = None
    why: str = ""


def read_staleness(store: LocalStore) -> Staleness:
    """Read how stale the cached catalog is now. A catalog that was written by hand and never fetched is not stale."""
    fetched = store.read_note(FetchNote)
    if fetched is None or not fetched.trouble:
        return Staleness()
    connection = store.read_note(ConnectionNote)
    # As long as the node was connected, the server would have announced another catalog.
    lost_at = connection.since if connection is not None and not connection.is_connected else None
    confirmed = [at for at in (fetched.checked_at, lost_at) if at is not None]
    return Staleness(True, max(confirmed, default=fetched.failed_at), fetched.trouble)
