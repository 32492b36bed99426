"""Catalogs, the tree of traces that tells which of them a node gets, who waits for a compile, what is staged and what released."""

from precast.store.schema.migrations import Migration

MIGRATION = Migration(
    number=9,
    name="catalogs",
    runs_with=1,
    expand=(
        """
        CREATE TABLE document (
            digest     TEXT PRIMARY KEY,
            body       {bytes} NOT NULL,         -- packed canonical JSON: the body of a catalog, or a source map
            size       {int} NOT NULL,           -- unpacked
            stored_at  {int} NOT NULL
        ){strict}
        """,
        """
        CREATE TABLE trace_chain (
            id          TEXT PRIMARY KEY,
            environment TEXT NOT NULL,
            parent      TEXT NOT NULL,           -- the chain it hangs at; empty for the first
            position    {int} NOT NULL,          -- the read of the parent whose answer was another
            answer      TEXT NOT NULL,           -- digest of that answer
            links       {bytes} NOT NULL,        -- packed: the reads that follow
            leaf        TEXT NOT NULL,           -- JSON: catalog and source map, or error; what the compile said
            made_at     {int} NOT NULL,
            used_at     {int} NOT NULL,          -- rounded to a day
            UNIQUE (environment, parent, position, answer)
        ){strict}
        """,
        """
        CREATE TABLE compile_waiter (
            branch      TEXT NOT NULL,           -- where the tree ends for the node: key of the compile that was asked for
            node        TEXT NOT NULL REFERENCES node (name),
            since       {int} NOT NULL,
            PRIMARY KEY (branch, node)
        ){strict}
        """,
        "CREATE INDEX compile_waiter_node ON compile_waiter (node)",
        """
        CREATE TABLE node_catalog (
            node        TEXT PRIMARY KEY REFERENCES node (name),
            environment TEXT NOT NULL,
            version     TEXT NOT NULL,           -- of the environment
            facts       TEXT NOT NULL,           -- digest of the stable facts it was decided with
            chain       TEXT NOT NULL,           -- the chain whose leaf it is
            skeleton    TEXT,                    -- the document, with holes; NULL where the leaf is an error
            digest      TEXT,                    -- of the filled body: the version of the catalog
            fill        TEXT NOT NULL,           -- JSON: the values of the holes
            decided_at  {int} NOT NULL,
            changed_at  {int} NOT NULL           -- when the digest last became another
        ){strict}
        """,
        """
        CREATE TABLE node_release (
            node        TEXT NOT NULL REFERENCES node (name),
            number      {int} NOT NULL,          -- counts up; the highest is what the node is served
            digest      TEXT NOT NULL,
            skeleton    TEXT NOT NULL REFERENCES document (digest),
            fill        TEXT NOT NULL,
            environment TEXT NOT NULL,
            version     TEXT NOT NULL,
            released_at {int} NOT NULL,
            released_by TEXT NOT NULL,
            PRIMARY KEY (node, number)
        ){strict}
        """,
        "CREATE INDEX node_release_skeleton ON node_release (skeleton)",
        "CREATE INDEX node_catalog_environment ON node_catalog (environment, node)",
        "CREATE INDEX node_catalog_broken ON node_catalog (node) WHERE skeleton IS NULL",
    ),
    expand_only={
        "PostgreSQL": (
            "ALTER TABLE document ALTER COLUMN body SET STORAGE EXTERNAL",
            "ALTER TABLE trace_chain ALTER COLUMN links SET STORAGE EXTERNAL",
        ),
    },
)
