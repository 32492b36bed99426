"""Facts in short: what queries ask for most, so that they need not read all that a node has said."""

from precast.store.schema.migrations import Migration

MIGRATION = Migration(
    number=15,
    name="fact briefs",
    runs_with=1,
    expand=(
        """
        CREATE TABLE fact_brief (
            node   TEXT PRIMARY KEY REFERENCES node (name),
            digest TEXT NOT NULL,            -- of the stable facts it was made from; of others it says nothing
            body   {bytes} NOT NULL          -- packed JSON: the small facts, and the paths of what was left out
        ){strict}
        """,
    ),
    expand_only={"PostgreSQL": ("ALTER TABLE fact_brief ALTER COLUMN body SET STORAGE EXTERNAL",)},
)
