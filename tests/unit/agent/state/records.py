"""Records of a server, as the local store receives them."""

from datetime import UTC, datetime, timedelta

import msgspec

from precast.wire.sessions import COLLECT, Record

AT = datetime(2026, 1, 1, tzinfo=UTC)


def record(number: int, kind: str = COLLECT, body: object = None) -> Record:
    """Make a record that the server wrote `number` seconds after the first."""
    return Record(number, kind, AT + timedelta(seconds=number), msgspec.Raw(msgspec.json.encode(body or {})))
