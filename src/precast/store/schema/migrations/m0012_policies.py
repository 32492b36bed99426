"""What a node's agent may do by itself, and what was released lately, for those who tell nodes."""

from precast.store.schema.migrations import Migration

MIGRATION = Migration(
    number=12,
    name="policies",
    runs_with=1,
    expand=(
        """
        CREATE TABLE node_policy (
            node        TEXT PRIMARY KEY REFERENCES node (name),
            serial      {int} NOT NULL,          -- only grows, also if the node is forgotten and comes again
            enforce     TEXT NOT NULL,           -- never, triggered, window, always
            windows     TEXT NOT NULL,           -- JSON: when, as people write it
            set_by      TEXT NOT NULL,
            set_at      {int} NOT NULL
        ){strict}
        """,
        "CREATE INDEX node_policy_set ON node_policy (set_at, node)",
        "CREATE INDEX node_release_at ON node_release (released_at, node)",
    ),
)
