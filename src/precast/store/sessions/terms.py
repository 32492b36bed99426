"""The term of a database: a number that grows when a standby is promoted, or a backup is restored.

It stands before every epoch and fence of the site. A server whose database was left behind by a promotion has a lower term than nodes
have seen elsewhere; such nodes do not speak with it, so nothing is granted by it. The term of a new or restored database begins with the
time, so it is higher than any before. PostgreSQL counts its promotions itself (the timeline); a change of that number begins a term.
"""

from datetime import datetime

from precast.base.clock import to_micros
from precast.store.engine.query import Query, Transaction

FIND = Query(
    "sessions.term",
    """
    -- The term, the timeline that it was begun for, and the present one. A database in a file has no timelines.
    SELECT site_term.term, site_term.timeline, present.timeline FROM (SELECT '' AS timeline) AS present
    LEFT JOIN site_term ON site_term.id = 1
    """,
    postgresql="""
    SELECT site_term.term, site_term.timeline, present.timeline
    FROM (SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) AS timeline) AS present
    LEFT JOIN site_term ON site_term.id = 1
    """,
)
BEGIN = Query(
    "sessions.begin_term",
    """
    -- No row if another server has begun this term in the meantime.
    INSERT INTO site_term (id, term, timeline) VALUES (1, :term, :timeline)
    ON CONFLICT (id) DO UPDATE SET timeline = excluded.timeline,
        term = CASE WHEN excluded.term > site_term.term THEN excluded.term ELSE site_term.term + 1 END
    WHERE site_term.timeline <> excluded.timeline
    RETURNING term
    """,
)
RAISE = Query(
    "sessions.raise_term",
    "UPDATE site_term SET term = CASE WHEN :least > term THEN :least ELSE term END + 1 RETURNING term",
)
_MICROS = 1_000_000


def find_term(now: datetime) -> Transaction[int]:
    """The term of the database; it begins one if the database was promoted, restored or made since."""
    while True:
        ((term, timeline, present),) = yield FIND()
        if term is not None and timeline == present:
            return int(term)
        begun = yield BEGIN(term=to_micros(now) // _MICROS, timeline=present)
        if begun:
            return int(begun[0][0])


def raise_term(least: int, now: datetime) -> Transaction[int]:
    """Begin a term above this one, for an operator who says that this database is the right one."""
    yield from find_term(now)
    ((term,),) = yield RAISE(least=least)
    return int(term)
