"""Content by digest, environments as versions of trees, and where each part of a node's classification comes from."""

from precast.store.schema.migrations import Migration

MIGRATION = Migration(
    number=8,
    name="environments",
    runs_with=1,
    expand=(
        """
        CREATE TABLE blob (
            digest     TEXT PRIMARY KEY,     -- sha256 of the content
            size       {int} NOT NULL,       -- bytes
            created_at {int} NOT NULL,
            whole_at   {int}                 -- when the last chunk was stored; until then nobody can read it
        ){strict}
        """,
        """
        CREATE TABLE blob_chunk (
            digest TEXT NOT NULL REFERENCES blob (digest),
            number {int} NOT NULL,           -- from 0 on
            data   {bytes} NOT NULL,
            PRIMARY KEY (digest, number)
        ){strict}
        """,
        """
        CREATE TABLE blob_reference (        -- what is named here is not collected
            digest TEXT NOT NULL REFERENCES blob (digest),
            owner  TEXT NOT NULL,            -- who names it, as tree:DIGEST
            PRIMARY KEY (digest, owner)
        ){strict}
        """,
        "CREATE INDEX blob_reference_owner ON blob_reference (owner)",
        """
        CREATE TABLE environment (
            name       TEXT PRIMARY KEY,
            version    TEXT NOT NULL REFERENCES blob (digest),   -- the digest of its tree
            number     {int} NOT NULL,
            policy     TEXT NOT NULL,        -- manual, automatic
            changed_at {int} NOT NULL
        ){strict}
        """,
        """
        CREATE TABLE environment_version (   -- what was current, in order; a version that came back has two numbers
            environment TEXT NOT NULL REFERENCES environment (name),
            number      {int} NOT NULL,
            version     TEXT NOT NULL REFERENCES blob (digest),
            source      TEXT NOT NULL,       -- where it came from, in words
            commit_id   TEXT,
            deployed_by TEXT NOT NULL,
            deployed_at {int} NOT NULL,
            PRIMARY KEY (environment, number)
        ){strict}
        """,
        "CREATE INDEX environment_version_version ON environment_version (version)",
        "ALTER TABLE node ADD COLUMN classes TEXT",  # JSON: parameters by class
        "ALTER TABLE node ADD COLUMN parameters TEXT",  # JSON
        "CREATE INDEX node_environment ON node (environment, name)",
        """
        CREATE TABLE node_said (             -- what each source says of a node; the columns of node are what follows from all
            node        TEXT NOT NULL REFERENCES node (name),
            source      TEXT NOT NULL,       -- operator, rules, enc
            detail      TEXT NOT NULL,       -- which rule, which program
            environment TEXT,
            role        TEXT,
            classes     TEXT,
            parameters  TEXT,
            said_at     {int} NOT NULL,
            problem     TEXT,                -- why the source could not be asked anew: then this is its last answer
            problem_at  {int},
            PRIMARY KEY (node, source)
        ){strict}
        """,
        "CREATE INDEX node_said_problem ON node_said (problem_at) WHERE problem_at IS NOT NULL",
        """
        INSERT INTO node_said (node, source, detail, environment, role, said_at)
        SELECT name, 'operator', '', environment, role, created_at FROM node
        WHERE environment IS NOT NULL OR role IS NOT NULL
        """,
        """
        CREATE TABLE node_rule (             -- the first that fits by number says it
            number      {int} PRIMARY KEY,
            name        TEXT,                -- a pattern or /expression/ for the certname; any if absent
            extensions  TEXT NOT NULL,       -- JSON: what extensions of the certificate must be
            environment TEXT,
            role        TEXT,
            classes     TEXT,
            parameters  TEXT,
            created_by  TEXT NOT NULL,
            created_at  {int} NOT NULL
        ){strict}
        """,
    ),
    expand_only={
        # Chunks are as large as they are: no second copy packed by the database, and a part is read without the rest.
        "PostgreSQL": ("ALTER TABLE blob_chunk ALTER COLUMN data SET STORAGE EXTERNAL",),
    },
)
