"""Tables of catalogs: documents, the trace tree that leads to them, pending compiles, staged and released catalogs."""

TABLES = (
    """
    CREATE TABLE document (
        digest     TEXT PRIMARY KEY,
        body       {bytes} NOT NULL,         -- compressed canonical JSON: the body of a catalog, or a source map
        size       {int} NOT NULL,           -- uncompressed
        stored_at  {int} NOT NULL
    ){strict}
    """,
    """
    CREATE TABLE trace_chain (
        id          TEXT PRIMARY KEY,
        environment TEXT NOT NULL,
        parent      TEXT NOT NULL,           -- the chain it branches off; empty for the first
        position    {int} NOT NULL,          -- the read of the parent at which the answer differed
        answer      TEXT NOT NULL,           -- digest of that answer
        links       {bytes} NOT NULL,        -- compressed: the reads that follow
        leaf        TEXT NOT NULL,           -- JSON: catalog and source map, or error; and the messages of the compile
        made_at     {int} NOT NULL,
        used_at     {int} NOT NULL,          -- rounded to a day
        value       TEXT,                    -- JSON: the answer behind the digest in `answer`; NULL if it is absent or long
        catalog     TEXT,                    -- the documents that `leaf` names; NULL for an error
        source_map  TEXT,
        UNIQUE (environment, parent, position, answer)
    ){strict}
    """,
    "CREATE INDEX trace_chain_catalog ON trace_chain (catalog)",
    "CREATE INDEX trace_chain_source_map ON trace_chain (source_map)",
    "CREATE INDEX trace_chain_used ON trace_chain (used_at, id)",
    """
    CREATE TABLE compile_waiter (
        branch      TEXT NOT NULL,           -- where the trace tree ends for the node: the key of the requested compile
        node        TEXT NOT NULL REFERENCES node (name),
        entry       TEXT NOT NULL,           -- the entry point that it waits for; empty for the main manifest
        since       {int} NOT NULL,
        PRIMARY KEY (branch, node, entry)
    ){strict}
    """,
    "CREATE INDEX compile_waiter_node ON compile_waiter (node)",
    """
    CREATE TABLE node_catalog (              -- the staged catalog of each node
        node        TEXT PRIMARY KEY REFERENCES node (name),
        environment TEXT NOT NULL,
        version     TEXT NOT NULL,           -- of the environment
        facts       TEXT NOT NULL,           -- digest of the stable facts it was staged with
        chain       TEXT NOT NULL,           -- the trace chain whose leaf it is
        skeleton    TEXT,                    -- the document, with holes; NULL where the leaf is an error
        digest      TEXT,                    -- of the filled body: the version of the catalog
        fill        TEXT NOT NULL,           -- JSON: the values of the holes
        decided_at  {int} NOT NULL,
        changed_at  {int} NOT NULL,          -- when the digest last changed
        problems    {int} NOT NULL DEFAULT 0 -- how many problems the leaf has that are no errors
    ){strict}
    """,
    "CREATE INDEX node_catalog_problems ON node_catalog (node) WHERE problems > 0",
    "CREATE INDEX node_catalog_environment ON node_catalog (environment, node)",
    "CREATE INDEX node_catalog_broken ON node_catalog (node) WHERE skeleton IS NULL",
    "CREATE INDEX node_catalog_chain ON node_catalog (chain)",
    "CREATE INDEX node_catalog_skeleton ON node_catalog (skeleton)",
    """
    CREATE TABLE entry_catalog (             -- the entry points that are wanted for each node, with the staged catalog of each
        node        TEXT NOT NULL REFERENCES node (name),
        entry       TEXT NOT NULL,           -- a path inside the environment
        wanted_at   {int} NOT NULL,          -- when a plan or a person last wanted it
        environment TEXT,                    -- from here on as in node_catalog; NULL before the first decision
        version     TEXT,
        chain       TEXT,
        skeleton    TEXT,
        digest      TEXT,
        fill        TEXT,
        decided_at  {int},
        problems    {int} NOT NULL DEFAULT 0,
        trouble     TEXT NOT NULL DEFAULT '',-- why the last decision could not be made, where that is no error of the code
        PRIMARY KEY (node, entry)
    ){strict}
    """,
    "CREATE INDEX entry_catalog_wanted ON entry_catalog (wanted_at)",
    "CREATE INDEX entry_catalog_broken ON entry_catalog (node, entry) WHERE chain IS NOT NULL AND skeleton IS NULL",
    "CREATE INDEX entry_catalog_problems ON entry_catalog (node, entry) WHERE problems > 0",
    "CREATE INDEX entry_catalog_chain ON entry_catalog (chain)",
    "CREATE INDEX entry_catalog_skeleton ON entry_catalog (skeleton)",
    """
    CREATE TABLE entry_hold (                -- the catalogs of entry points that a job has pinned
        job         TEXT NOT NULL,
        node        TEXT NOT NULL REFERENCES node (name),
        entry       TEXT NOT NULL,
        digest      TEXT NOT NULL,
        skeleton    TEXT NOT NULL REFERENCES document (digest),
        fill        TEXT NOT NULL,
        environment TEXT NOT NULL,
        version     TEXT NOT NULL,           -- of the environment
        held_at     {int} NOT NULL,
        PRIMARY KEY (job, node, entry)
    ){strict}
    """,
    "CREATE INDEX entry_hold_node ON entry_hold (node, digest)",
    "CREATE INDEX entry_hold_skeleton ON entry_hold (skeleton)",
    """
    CREATE TABLE release_log (               -- each release and rollback once, however many nodes it has
        number      {int} PRIMARY KEY,       -- only grows; on PostgreSQL there may be gaps
        kind        TEXT NOT NULL,           -- release, rollback
        began_at    {int} NOT NULL,
        finished_at {int},                   -- NULL while pages of nodes are missing
        actor       TEXT NOT NULL,
        why         TEXT NOT NULL,
        targets     TEXT NOT NULL,           -- JSON: the targets, as the request named them; without any for a policy
        point       TEXT NOT NULL,           -- where a rollback goes to; empty for one step back
        request     TEXT NOT NULL,           -- the approved request; empty without one
        nodes       {int} NOT NULL,          -- how many nodes it has changed
        versions    TEXT NOT NULL            -- JSON: environment, version of the code, commit
    ){strict}
    """,
    """
    CREATE TABLE node_release (
        node        TEXT NOT NULL REFERENCES node (name),
        number      {int} NOT NULL,          -- counts up; the node is served the highest
        digest      TEXT NOT NULL,
        skeleton    TEXT NOT NULL REFERENCES document (digest),
        fill        TEXT NOT NULL,
        environment TEXT NOT NULL,
        version     TEXT NOT NULL,
        released_at {int} NOT NULL,
        released_by TEXT NOT NULL,
        release     {int} NOT NULL REFERENCES release_log (number),
        origin      {int} NOT NULL,          -- its own number; of a rollback, the number of the release that it restores
        origin_release {int} NOT NULL,       -- the number of that release in the log
        parent      {int},                   -- the origin of what was served before that release: one step back
        commit_id   TEXT,                    -- of the version of the code, if it came from a repository
        PRIMARY KEY (node, number)
    ){strict}
    """,
    "CREATE INDEX node_release_skeleton ON node_release (skeleton, node, number)",
    "CREATE UNIQUE INDEX node_release_once ON node_release (release, node)",
    "CREATE INDEX node_release_at ON node_release (released_at, node)",
    """
    CREATE TABLE node_change (
        node           TEXT PRIMARY KEY REFERENCES node (name),
        at             {int} NOT NULL,       -- when its staged catalog last changed
        environment    TEXT NOT NULL,
        old_version    TEXT NOT NULL,
        version        TEXT NOT NULL,
        old_digest     TEXT,                 -- NULL where the code gave an error
        digest         TEXT,
        told           TEXT NOT NULL,        -- JSON: the question, its earlier answer and its present answer
        number         {int}                 -- the environment version that caused the change, if one did
    ){strict}
    """,
)
POSTGRESQL = (
    # A sequence takes no lock that outlives the call; a counter row would serialise all decisions that release automatically.
    "CREATE SEQUENCE release_number",
    "ALTER TABLE document ALTER COLUMN body SET STORAGE EXTERNAL",
    "ALTER TABLE trace_chain ALTER COLUMN links SET STORAGE EXTERNAL",
)
