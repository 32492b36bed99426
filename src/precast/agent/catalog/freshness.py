"""Whether the catalog that is kept here is still the one that was released to this node, as far as can be known.

While a server can be asked, it is. When none can, runs go on with what is kept, and every one of them says so: since when nobody has
confirmed it, and why not.
"""

from datetime import datetime
from typing import NamedTuple

from precast.agent.state.notes import FetchNote, LinkNote
from precast.agent.state.store import LocalStore


class Freshness(NamedTuple):
    """What a run says of the catalog it applies."""

    is_stale: bool = False
    since: datetime | None = None
    why: str = ""


def freshness(store: LocalStore) -> Freshness:
    """How it stands now. What was put here by hand, and never fetched, is nobody's to confirm and not stale."""
    fetched = store.noted(FetchNote)
    if fetched is None or not fetched.trouble:
        return Freshness()
    link = store.noted(LinkNote)
    # A server that we were connected to would have told us of another one.
    known = [fetched.checked_at, link.since if link is not None and not link.is_connected else None]
    return Freshness(True, max((at for at in known if at is not None), default=fetched.failed_at), fetched.trouble)
