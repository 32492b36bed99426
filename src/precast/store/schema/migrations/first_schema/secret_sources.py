"""Tables of what servers have read from secret sources."""

TABLES = (
    """
    CREATE TABLE source_document (
        id          TEXT PRIMARY KEY,        -- the digest of environment, source and path
        environment TEXT NOT NULL,
        source      TEXT NOT NULL,
        path        TEXT NOT NULL,
        sealed      {bytes},                 -- the fields; NULL if the source has no such document, or has not answered yet
        answers     TEXT,                    -- an HMAC for each field, as JSON; NULL if the source has not answered yet
        read_at     {int},                   -- when the source last answered
        tried_at    {int},                   -- when it was last asked
        due_at      {int} NOT NULL,          -- when it is asked again
        problem     TEXT                     -- why the last request failed; NULL if it did not
    ){strict}
    """,
    "CREATE INDEX source_document_place ON source_document (environment, source, id)",
    """
    CREATE TABLE secret_reader (             -- the nodes whose catalogs depend on a document
        document TEXT NOT NULL REFERENCES source_document (id) ON DELETE CASCADE,
        node     TEXT NOT NULL,
        PRIMARY KEY (document, node)
    ){strict}
    """,
    "CREATE INDEX secret_reader_node ON secret_reader (node, document)",
    """
    CREATE TABLE secret_policy (
        environment TEXT PRIMARY KEY,
        revision    {int} NOT NULL,          -- grows with every change of a document or of the policy
        by_facts    TEXT NOT NULL            -- whether a fact may choose a secret: warn or refuse
    ){strict}
    """,
)
