"""When recurring work is due: at a fixed offset within every interval. The node's name chooses the offset, which spreads a fleet evenly."""

from datetime import UTC, datetime, timedelta

from precast.agent.connection.backoff import fraction
from precast.agent.state.status_notes import CertificateNote
from precast.agent.state.store import LocalStore

# The clock may be set and the machine may be suspended, so chores compute what is due again at least this often.
CHECK_S = 30.0

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def due_at(name: str, last_at: datetime | None, now: datetime, interval: timedelta, splay: timedelta) -> datetime:
    """When the work is due next: now, if the last time is longer ago than the interval or lies in the future."""
    if last_at is None or last_at > now or now - last_at >= interval:
        return now
    offset = fraction(name) * min(splay, interval)
    slots = (last_at - _EPOCH - offset) // interval + 1
    return _EPOCH + offset + slots * interval


def node_name(store: LocalStore) -> str:
    """The name that chooses this node's offset: of its certificate, or as long as there is none, the id of its local store."""
    certificate = store.read_note(CertificateNote)
    return certificate.name if certificate is not None else store.session_state().instance
