"""Tables of the resource index: each resource of the released catalogs once, however many catalogs contain it."""

TABLES = (
    """
    CREATE TABLE catalog_index (
        skeleton    TEXT PRIMARY KEY,
        id          TEXT NOT NULL,           -- the beginning of the digest: short, because each member repeats it
        indexed_at  {int},                   -- NULL until it is indexed
        UNIQUE (id)
    ){strict}
    """,
    "CREATE INDEX catalog_index_waiting ON catalog_index (skeleton) WHERE indexed_at IS NULL",
    """
    CREATE TABLE catalog_resource (
        id          TEXT PRIMARY KEY,        -- the beginning of the digest of the other columns
        type        TEXT NOT NULL,
        title_key   TEXT NOT NULL,           -- the beginning of the title: a title can be as long as a script
        body        {bytes} NOT NULL         -- compressed JSON: title, parameters except the sensitive ones, tags
    ){strict}
    """,
    "CREATE INDEX catalog_resource_reference ON catalog_resource (type, title_key, id)",
    "CREATE INDEX catalog_resource_title ON catalog_resource (title_key, type, id)",
    """
    CREATE TABLE catalog_value (             -- tags, and parameters whose value is a scalar or a list of scalars
        name        TEXT NOT NULL,
        value_key   TEXT NOT NULL,           -- the beginning of the value
        type        TEXT NOT NULL,
        resource    TEXT NOT NULL REFERENCES catalog_resource (id),
        PRIMARY KEY (name, value_key, type, resource)
    ){strict}
    """,
    "CREATE INDEX catalog_value_resource ON catalog_value (resource)",
    """
    CREATE TABLE catalog_member (
        resource    TEXT NOT NULL REFERENCES catalog_resource (id),
        catalog     TEXT NOT NULL REFERENCES catalog_index (id),
        PRIMARY KEY (resource, catalog)
    ){strict}
    """,
    "CREATE INDEX catalog_member_catalog ON catalog_member (catalog, resource)",
    """
    CREATE TABLE fleet_answer (              -- the answers to queries over the fleet that compiles get
        environment TEXT NOT NULL,           -- whose nodes the query sees; empty for all
        id          TEXT NOT NULL,           -- the digest of the query
        query       TEXT NOT NULL,           -- canonical JSON
        digest      TEXT NOT NULL,           -- of the answer
        answer      {bytes} NOT NULL,        -- compressed canonical JSON
        changed_at  {int} NOT NULL,
        allowed_at  {int} NOT NULL,          -- until when the allowance of changes is used up
        told        TEXT,                    -- the last reader whose decision was requested for this answer; NULL if no more are to be told
        PRIMARY KEY (environment, id)
    ){strict}
    """,
    """
    CREATE TABLE fleet_reader (              -- the nodes whose catalogs, or missing catalogs, rest on an answer
        node        TEXT NOT NULL REFERENCES node (name),
        environment TEXT NOT NULL,
        query       TEXT NOT NULL,           -- the id of the answer
        PRIMARY KEY (node, environment, query)
    ){strict}
    """,
    "CREATE INDEX fleet_reader_query ON fleet_reader (environment, query, node)",
)
