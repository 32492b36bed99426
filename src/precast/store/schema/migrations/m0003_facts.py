"""Facts: what nodes have sent, what is stored of it, and how it changed."""

from precast.store.schema.migrations import Migration

MIGRATION = Migration(
    number=3,
    name="facts",
    runs_with=1,
    expand=(
        """
        CREATE TABLE fact_inbox (            -- acknowledged, not yet looked at; the newest of a node counts
            node        TEXT PRIMARY KEY REFERENCES node (name),
            digest      TEXT NOT NULL,
            stable      {bytes} NOT NULL,    -- canonical JSON
            volatile    {bytes} NOT NULL,
            received_at {int} NOT NULL
        ){strict}
        """,
        """
        CREATE TABLE fact_set (
            node        TEXT PRIMARY KEY REFERENCES node (name),
            digest      TEXT NOT NULL,       -- of the stable part
            stable      {bytes} NOT NULL,
            received_at {int} NOT NULL,
            decision    TEXT NOT NULL,       -- what came of it, in words
            decided_at  {int} NOT NULL,
            allowed_at  {int} NOT NULL       -- how far compiles caused by this node are paid for
        ){strict}
        """,
        """
        CREATE TABLE fact_volatile (         -- apart, because it changes all the time and is small
            node        TEXT PRIMARY KEY REFERENCES node (name),
            body        {bytes} NOT NULL,
            received_at {int} NOT NULL
        ){strict}
        """,
        """
        CREATE TABLE fact_change (
            node   TEXT NOT NULL REFERENCES node (name),
            at     {int} NOT NULL,
            path   TEXT NOT NULL,            -- JSON pointer
            before {bytes},                  -- JSON; absent if there was nothing
            after  {bytes},
            PRIMARY KEY (node, at, path)
        ){strict}
        """,
    ),
    expand_only={
        "PostgreSQL": (
            "ALTER TABLE fact_inbox ALTER COLUMN stable SET STORAGE EXTERNAL",
            "ALTER TABLE fact_set ALTER COLUMN stable SET STORAGE EXTERNAL",
        ),
    },
)
