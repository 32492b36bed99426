"""Rows of values as both tables have them."""

from datetime import datetime

import msgspec

from precast.base.clock import from_optional_micros
from precast.store.engine.query import Row


class StoredValue(msgspec.Struct, frozen=True, gc=False):
    """A value: sealed if it is sensitive. The digest is that of the value; of a sensitive one it is its reference."""

    value: bytes
    digest: str
    is_sensitive: bool = False


class ValueRow(msgspec.Struct, frozen=True, gc=False):
    """The state of a key of one node in an environment or a job."""

    owner: str  # the environment or the job
    key: str
    node: str
    state: str
    number: int
    environment: str
    value: StoredValue | None = None
    expires_at: datetime | None = None
    reason: str = ""
    is_standing: bool = False


def standing_row(row: Row) -> ValueRow:
    environment, key, node, number, value, is_sensitive, digest, expires = row
    stored = StoredValue(bytes(value), digest, bool(is_sensitive))
    return ValueRow(
        environment,
        key,
        node,
        "fulfilled",
        number,
        environment,
        stored,
        from_optional_micros(expires),
        is_standing=True,
    )


def job_row(row: Row) -> ValueRow:
    job, key, node, state, number, environment, value, is_sensitive, digest, expires, reason = row
    stored = None if value is None else StoredValue(bytes(value), digest, bool(is_sensitive))
    return ValueRow(job, key, node, state, number, environment, stored, from_optional_micros(expires), reason)
