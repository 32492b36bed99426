"""An index of the resources in released catalogs: each kept once, however many catalogs hold it."""

from precast.store.schema.migrations import Migration

MIGRATION = Migration(
    number=13,
    name="resources",
    runs_with=1,
    expand=(
        """
        CREATE TABLE catalog_index (
            skeleton    TEXT PRIMARY KEY,
            id          TEXT NOT NULL,           -- the beginning of the digest: short, because members repeat it
            indexed_at  {int},                   -- NULL while it is not looked through
            UNIQUE (id)
        ){strict}
        """,
        "CREATE INDEX catalog_index_waiting ON catalog_index (skeleton) WHERE indexed_at IS NULL",
        """
        CREATE TABLE catalog_resource (
            id          TEXT PRIMARY KEY,        -- the beginning of the digest of the rest
            type        TEXT NOT NULL,
            title_key   TEXT NOT NULL,           -- the beginning of the title: a title can be as long as a script
            body        {bytes} NOT NULL         -- packed JSON: title, parameters but the sensitive ones, tags
        ){strict}
        """,
        "CREATE INDEX catalog_resource_reference ON catalog_resource (type, title_key, id)",
        "CREATE INDEX catalog_resource_title ON catalog_resource (title_key, type, id)",
        """
        CREATE TABLE catalog_value (             -- tags, and parameters that have a plain value or a list of such
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
    ),
)
