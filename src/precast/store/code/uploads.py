"""Which content was uploaded for which environment: whoever uploaded content has it, so they may name it in a tree.

A row says nothing of whether the content is still stored. Rows expire, because a deployed tree has references of its own.
"""

from collections.abc import Sequence
from datetime import datetime

from precast.base.clock import to_micros
from precast.store.engine.query import Query, Transaction, json_list

ADD = Query(
    "uploads.add",
    """
    INSERT INTO content_upload (environment, digest, uploaded_at)
    SELECT :environment, value, :now FROM json_each(:digests) WHERE true
    ON CONFLICT (environment, digest) DO UPDATE SET uploaded_at = excluded.uploaded_at
    """,
    postgresql="""
    INSERT INTO content_upload (environment, digest, uploaded_at)
    SELECT CAST(:environment AS TEXT), value, CAST(:now AS BIGINT)
    FROM jsonb_array_elements_text(CAST(:digests AS JSONB)) AS named (value) ORDER BY value
    ON CONFLICT (environment, digest) DO UPDATE SET uploaded_at = excluded.uploaded_at
    """,
)
FIND = Query(
    "uploads.find",
    """
    SELECT DISTINCT digest FROM content_upload WHERE digest IN (SELECT value FROM json_each(:digests))
        AND environment IN (SELECT value FROM json_each(:environments))
    """,
    postgresql="""
    SELECT DISTINCT digest FROM content_upload
    WHERE digest = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
        AND environment = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:environments AS JSONB))))
    """,
)
TOUCH = Query(
    "uploads.touch",
    """
    UPDATE content_upload SET uploaded_at = :now WHERE digest IN (SELECT value FROM json_each(:digests))
        AND environment IN (SELECT value FROM json_each(:environments)) AND uploaded_at < :before_at
    """,
    postgresql="""
    UPDATE content_upload SET uploaded_at = :now
    WHERE digest = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
        AND environment = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:environments AS JSONB))))
        AND uploaded_at < :before_at
    """,
)
EXPIRE = Query(
    "uploads.expire",
    """
    DELETE FROM content_upload WHERE (environment, digest) IN (
        SELECT environment, digest FROM content_upload WHERE uploaded_at < :before_at
        ORDER BY uploaded_at, environment, digest LIMIT :limit
    )
    RETURNING digest
    """,
)


class Uploads:
    """The uploads of one database. Callers pass at most 2,000 digests at once."""

    def add(self, environment: str, digests: Sequence[str], now: datetime) -> Transaction[None]:
        """Record that contents were uploaded for an environment."""
        yield ADD(environment=environment, digests=json_list(digests), now=to_micros(now))

    def filter_uploaded(self, environments: Sequence[str], digests: Sequence[str]) -> Transaction[set[str]]:
        """Return those of the digests that were uploaded for one of the environments."""
        return {row[0] for row in (yield FIND(environments=json_list(environments), digests=json_list(digests)))}

    def touch(
        self, environments: Sequence[str], digests: Sequence[str], before: datetime, now: datetime
    ) -> Transaction[None]:
        """Set the age of uploads older than `before` to zero, for a caller that is about to deploy them."""
        yield TOUCH(
            environments=json_list(environments),
            digests=json_list(digests),
            before_at=to_micros(before),
            now=to_micros(now),
        )

    def expire(self, before: datetime, limit: int) -> Transaction[int]:
        """Delete up to `limit` rows older than `before`. Returns how many."""
        return len((yield EXPIRE(before_at=to_micros(before), limit=limit)))
