"""The history of facts as one row a step, what lately changed of a node, and how often it has sent its facts."""

from precast.store.schema.migrations import Migration

MIGRATION = Migration(
    number=7,
    name="fact history",
    runs_with=1,
    expand=(
        """
        CREATE TABLE fact_history (
            node    TEXT NOT NULL REFERENCES node (name),
            at      {int} NOT NULL,
            count   {int} NOT NULL,          -- how many paths changed
            changes {bytes} NOT NULL,        -- packed JSON: path, before, after of each
            PRIMARY KEY (node, at)
        ){strict}{by_time}
        """,
        "CREATE INDEX fact_history_at ON fact_history (at)",
        "ALTER TABLE fact_set ADD COLUMN recent {bytes}",  # packed JSON: which paths changed in the last submissions
        "ALTER TABLE fact_volatile ADD COLUMN submissions {int} NOT NULL DEFAULT 0",
    ),
    expand_only={
        "PostgreSQL": (
            "CREATE TABLE fact_history_rest PARTITION OF fact_history DEFAULT",
            # Everything is packed by us.
            "ALTER TABLE fact_history ALTER COLUMN changes SET STORAGE EXTERNAL",
            "ALTER TABLE fact_set ALTER COLUMN recent SET STORAGE EXTERNAL",
            "ALTER TABLE fact_inbox ALTER COLUMN volatile SET STORAGE EXTERNAL",
            "ALTER TABLE fact_volatile ALTER COLUMN body SET STORAGE EXTERNAL",
        ),
    },
)
