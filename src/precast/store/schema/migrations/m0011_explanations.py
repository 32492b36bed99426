"""Why a node has another catalog than before, which facts ask for more than they may, and what pruning of traces goes by."""

from precast.store.schema.migrations import Migration

MIGRATION = Migration(
    number=11,
    name="explanations",
    runs_with=1,
    expand=(
        # JSON: the answer that the digest in `answer` is of; NULL if it is absent, long, or older than this column.
        "ALTER TABLE trace_chain ADD COLUMN value TEXT",
        # The documents that `leaf` names; NULL for an error, and until a collection has looked at a row of an earlier program.
        "ALTER TABLE trace_chain ADD COLUMN catalog TEXT",
        "ALTER TABLE trace_chain ADD COLUMN source_map TEXT",
        "CREATE INDEX trace_chain_catalog ON trace_chain (catalog)",
        "CREATE INDEX trace_chain_source_map ON trace_chain (source_map)",
        "CREATE INDEX trace_chain_used ON trace_chain (used_at, id)",
        "CREATE INDEX node_catalog_chain ON node_catalog (chain)",
        "CREATE INDEX node_catalog_skeleton ON node_catalog (skeleton)",
        """
        CREATE TABLE node_change (
            node           TEXT PRIMARY KEY REFERENCES node (name),
            at             {int} NOT NULL,       -- when its catalog last became another
            environment    TEXT NOT NULL,
            old_version    TEXT NOT NULL,
            version        TEXT NOT NULL,
            old_digest     TEXT,                 -- NULL where the code gave an error
            digest         TEXT,
            told           TEXT NOT NULL,        -- JSON: the question, what was answered and what is now
            number         {int}                 -- the version of the environment that brought it, if it was one
        ){strict}
        """,
        """
        CREATE TABLE fact_flap (
            node           TEXT NOT NULL REFERENCES node (name),
            path           TEXT NOT NULL,        -- JSON pointer
            times          {int} NOT NULL,       -- changes that had to wait
            since          {int} NOT NULL,
            last_at        {int} NOT NULL,
            PRIMARY KEY (node, path)
        ){strict}
        """,
        "CREATE INDEX fact_flap_last ON fact_flap (last_at)",
    ),
)
