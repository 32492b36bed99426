"""Tables of exported resources: what each catalog exports, what each node exports now, who collects it, and the rounds of changes."""

TABLES = (
    """
    CREATE TABLE catalog_export (            -- only of documents that export something
        skeleton    TEXT PRIMARY KEY,        -- the document
        resources   {bytes} NOT NULL         -- compressed JSON: the exported resources, with holes
    ){strict}
    """,
    """
    CREATE TABLE exported_resource (         -- what active nodes export, with their own values
        node        TEXT NOT NULL REFERENCES node (name),
        state       TEXT NOT NULL,           -- released: of the served catalog; staged: of the staged one, where collectors see that
        id          TEXT NOT NULL,           -- the beginning of the digest of type and title: a title can be long
        type        TEXT NOT NULL,
        environment TEXT NOT NULL,           -- of the catalog
        body        {bytes} NOT NULL,        -- canonical JSON; secrets are references
        PRIMARY KEY (node, state, id)
    ){strict}
    """,
    "CREATE INDEX exported_resource_type ON exported_resource (type, state, environment, node)",
    """
    CREATE TABLE export_type (               -- the changes of the exports of one type
        environment TEXT NOT NULL,
        state       TEXT NOT NULL,
        type        TEXT NOT NULL,
        generation  {int} NOT NULL,          -- counts the transactions that changed them
        announced   {int} NOT NULL,          -- the generation that collectors were last told of
        announced_at {int} NOT NULL,
        crowding    {int} NOT NULL,          -- how many announcements in a row were of several generations
        round       {int} NOT NULL,          -- 1 if something else than exports caused the last change, else one more than its cause
        cause_node  TEXT NOT NULL,           -- a node whose exports changed, and what changed
        cause_title TEXT NOT NULL,
        PRIMARY KEY (environment, state, type)
    ){strict}
    """,
    """
    CREATE TABLE export_collector (          -- which types a node collected when it was last decided upon
        node        TEXT NOT NULL REFERENCES node (name),
        type        TEXT NOT NULL,
        environment TEXT NOT NULL,           -- whose exports it sees; empty for those of all environments
        state       TEXT NOT NULL,           -- whether it sees released or staged ones
        PRIMARY KEY (node, type)
    ){strict}
    """,
    "CREATE INDEX export_collector_type ON export_collector (type, state, environment, node)",
    """
    CREATE TABLE export_round (              -- nodes whose exports changed because of what they collect
        node        TEXT NOT NULL REFERENCES node (name),
        state       TEXT NOT NULL,
        round       {int} NOT NULL,          -- of the exports that caused it
        cause_node  TEXT NOT NULL,           -- whose exports these are
        cause_type  TEXT NOT NULL,
        cause_title TEXT NOT NULL,
        stopped_at  {int},                   -- when its next change was held back because it is part of a loop
        loop        TEXT,                    -- JSON: the members of that loop
        PRIMARY KEY (node, state)
    ){strict}
    """,
    "CREATE INDEX export_round_stopped ON export_round (node) WHERE stopped_at IS NOT NULL",
)
