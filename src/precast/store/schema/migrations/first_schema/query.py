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
)
