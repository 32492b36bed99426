"""Records of a server's, as the local store takes them."""

from datetime import UTC, datetime, timedelta

import msgspec

from precast.wire.sessions import COLLECT, Record

AT = datetime(2026, 1, 1, tzinfo=UTC)


def record(number: int, kind: str = COLLECT) -> Record:
    """One that was made so many seconds after the first."""
    return Record(number, kind, AT + timedelta(seconds=number), msgspec.Raw(b"{}"))
