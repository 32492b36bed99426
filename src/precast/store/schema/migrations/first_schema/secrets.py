"""Tables of secrets: the wrapped keys of environments, the sealed values, and the catalogs that refer to them."""

TABLES = (
    """
    CREATE TABLE secret_key (
        environment TEXT PRIMARY KEY,        -- empty for the row that shows which master key the site has
        master      TEXT NOT NULL,           -- the id of the master key that wraps it
        wrapped     {bytes} NOT NULL,
        made_at     {int} NOT NULL
    ){strict}
    """,
    """
    CREATE TABLE secret_holder (             -- which master keys each process of a server has
        server      TEXT PRIMARY KEY,
        name        TEXT NOT NULL,           -- of the machine
        masters     TEXT NOT NULL,           -- JSON: ids, the current one first
        seen_at     {int} NOT NULL           -- a process that has not been seen for a minute has ended
    ){strict}
    """,
    """
    CREATE TABLE secret (
        environment TEXT NOT NULL REFERENCES secret_key (environment),
        ref         TEXT NOT NULL,           -- an HMAC of the value
        sealed      {bytes} NOT NULL,
        stored_at   {int} NOT NULL,          -- when a catalog that refers to it was last stored
        PRIMARY KEY (environment, ref)
    ){strict}
    """,
    """
    CREATE TABLE secret_use (                -- which catalogs refer to it
        document    TEXT NOT NULL REFERENCES document (digest) ON DELETE CASCADE,
        environment TEXT NOT NULL,
        ref         TEXT NOT NULL,
        PRIMARY KEY (document, environment, ref),
        FOREIGN KEY (environment, ref) REFERENCES secret (environment, ref)
    ){strict}
    """,
    "CREATE INDEX secret_use_ref ON secret_use (environment, ref, document)",
)
POSTGRESQL = ("ALTER TABLE secret ALTER COLUMN sealed SET STORAGE EXTERNAL",)
