"""Tables of identity: certificates, enrolment, tokens, browser sessions and the audit log."""

TABLES = (
    """
    CREATE TABLE certificate (
        fingerprint   TEXT PRIMARY KEY,          -- sha256 of the whole certificate: two authorities may use one serial
        serial        TEXT NOT NULL,             -- lower-case hex, for people and revocation lists
        node          TEXT NOT NULL REFERENCES node (name),
        key_digest    TEXT NOT NULL,             -- sha256 of its public key
        extensions    {bytes} NOT NULL,          -- JSON object: what trusted.extensions shows
        issued_at     {int} NOT NULL,
        not_after     {int} NOT NULL,
        revoked_at    {int},
        revoked_why   TEXT,
        authority     TEXT NOT NULL DEFAULT '',  -- fingerprint of the authority that signed it
        seen_at       {int},                     -- when a node first presented it
        superseded_at {int}                      -- when the node first presented a newer one, which replaces this one
    ){strict}
    """,
    "CREATE INDEX certificate_node ON certificate (node, issued_at)",
    "CREATE INDEX certificate_revoked ON certificate (revoked_at) WHERE revoked_at IS NOT NULL",
    """
    CREATE TABLE enrolment_request (
        node         TEXT NOT NULL,
        key_digest   TEXT NOT NULL,      -- sha256 of the key: only its owner gets the certificate
        request      {bytes} NOT NULL,   -- PEM
        address      TEXT NOT NULL,      -- the address that sent the request
        requested_at {int} NOT NULL,
        expires_at   {int} NOT NULL,     -- the row is deleted then, whether or not it was decided
        certificate  {bytes},            -- PEM, once it is signed
        rejected_at  {int},
        PRIMARY KEY (node, key_digest)
    ){strict}
    """,
    "CREATE INDEX enrolment_request_expires ON enrolment_request (expires_at)",
    """
    CREATE TABLE enrolment_token (
        id          TEXT PRIMARY KEY,
        secret_hash {bytes} NOT NULL,
        pattern     TEXT NOT NULL,       -- a name, or a glob over names
        extensions  {bytes} NOT NULL,
        uses_left   {int} NOT NULL,
        expires_at  {int} NOT NULL,
        created_at  {int} NOT NULL,
        created_by  TEXT NOT NULL,
        revoked_at  {int}
    ){strict}
    """,
    """
    CREATE TABLE person_token (
        id           TEXT PRIMARY KEY,
        secret_hash  {bytes} NOT NULL,
        person       TEXT NOT NULL,
        role         TEXT NOT NULL,
        environments {bytes} NOT NULL,   -- JSON array of names; empty means all
        expires_at   {int} NOT NULL,
        created_at   {int} NOT NULL,
        created_by   TEXT NOT NULL,
        revoked_at   {int}
    ){strict}
    """,
    """
    CREATE TABLE web_session (
        id          TEXT PRIMARY KEY,
        secret_hash {bytes} NOT NULL,
        token       TEXT NOT NULL REFERENCES person_token (id),  -- the session ends with the token it was exchanged for
        created_at  {int} NOT NULL,
        expires_at  {int} NOT NULL
    ){strict}
    """,
    "CREATE INDEX web_session_token ON web_session (token, created_at, id)",
    "CREATE INDEX web_session_expires ON web_session (expires_at)",
    """
    CREATE TABLE audit (
        id     TEXT PRIMARY KEY,         -- sorts by time
        at     {int} NOT NULL,
        actor  TEXT NOT NULL,            -- person:NAME, node:NAME or system
        action TEXT NOT NULL,
        target TEXT NOT NULL,
        detail {bytes} NOT NULL          -- JSON object, without secrets
    ){strict}
    """,
    "CREATE INDEX audit_target ON audit (target, id)",
)
