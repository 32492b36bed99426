"""What operators say about nodes: their environment and role."""

from precast.store.schema.migrations import Migration

MIGRATION = Migration(
    number=6,
    name="classification",
    runs_with=1,
    expand=(
        "ALTER TABLE node ADD COLUMN environment TEXT",
        "ALTER TABLE node ADD COLUMN role TEXT",
        "CREATE INDEX node_deactivated ON node (deactivated_at) WHERE deactivated_at IS NOT NULL",
    ),
)
