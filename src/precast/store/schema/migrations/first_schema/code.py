"""Tables of code: content by digest, and environments as versions of file trees."""

TABLES = (
    """
    CREATE TABLE blob (
        digest     TEXT PRIMARY KEY,     -- sha256 of the content
        size       {int} NOT NULL,       -- bytes
        created_at {int} NOT NULL,
        whole_at   {int}                 -- when the last chunk was stored; until then it cannot be read
    ){strict}
    """,
    """
    CREATE TABLE blob_chunk (
        digest TEXT NOT NULL REFERENCES blob (digest),
        number {int} NOT NULL,           -- counts from 0
        data   {bytes} NOT NULL,
        PRIMARY KEY (digest, number)
    ){strict}
    """,
    """
    CREATE TABLE blob_reference (        -- garbage collection spares the blobs named here
        digest TEXT NOT NULL REFERENCES blob (digest),
        owner  TEXT NOT NULL,            -- what refers to the blob, such as tree:DIGEST
        PRIMARY KEY (digest, owner)
    ){strict}
    """,
    "CREATE INDEX blob_reference_owner ON blob_reference (owner)",
    """
    CREATE TABLE content_upload (        -- the content that callers of an environment have uploaded, for some time
        environment TEXT NOT NULL,
        digest      TEXT NOT NULL,       -- not a reference: the blob may have been deleted since
        uploaded_at {int} NOT NULL,
        PRIMARY KEY (environment, digest)
    ){strict}
    """,
    "CREATE INDEX content_upload_age ON content_upload (uploaded_at, environment, digest)",
    """
    CREATE TABLE environment (
        name       TEXT PRIMARY KEY,
        version    TEXT NOT NULL REFERENCES blob (digest),   -- the digest of its file tree
        number     {int} NOT NULL,
        policy     TEXT NOT NULL,        -- manual, automatic
        changed_at {int} NOT NULL,
        release_approvals {int} NOT NULL DEFAULT 0,   -- how many other people must approve a release
        action_approvals  {int} NOT NULL DEFAULT 0,   -- how many must approve an action that changes nodes
        exports    TEXT NOT NULL DEFAULT 'released'   -- which exports its nodes collect: released, staged, everywhere
    ){strict}
    """,
    """
    CREATE TABLE environment_version (   -- the versions that were current, in order; one that became current twice has two numbers
        environment TEXT NOT NULL REFERENCES environment (name),
        number      {int} NOT NULL,
        version     TEXT NOT NULL REFERENCES blob (digest),
        source      TEXT NOT NULL,       -- where it came from, in words
        commit_id   TEXT,
        deployed_by TEXT NOT NULL,
        deployed_at {int} NOT NULL,
        signer      TEXT,                -- who signed its commit or tag; NULL if that was not required
        signing_key TEXT,                -- the fingerprint of their key
        PRIMARY KEY (environment, number)
    ){strict}
    """,
    """
    CREATE TABLE environment_signing (   -- environments that require signed code
        environment TEXT PRIMARY KEY,
        required    TEXT NOT NULL,       -- commit, tag
        signers     TEXT NOT NULL,       -- an allowed-signers file of ssh
        gpg_keys    TEXT NOT NULL,
        changed_at  {int} NOT NULL
    ){strict}
    """,
    "CREATE INDEX environment_version_version ON environment_version (version)",
)
# PostgreSQL does not compress chunks, so it can read a part of one without the rest.
POSTGRESQL = ("ALTER TABLE blob_chunk ALTER COLUMN data SET STORAGE EXTERNAL",)
