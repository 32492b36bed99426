"""Tables of identity: certificates, enrolment, tokens, browser sessions and the audit log."""

TABLES = (
    """
    CREATE TABLE authority (                     -- the authorities of this site; their keys are elsewhere
        fingerprint TEXT PRIMARY KEY,
        added_at    {int} NOT NULL
    ){strict}
    """,
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
        address      TEXT NOT NULL,      -- the address that sent the request, or the /64 of IPv6
        network      TEXT NOT NULL,      -- the network around it: a /24, or a /48 of IPv6
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
        uses        {int} NOT NULL,
        uses_left   {int} NOT NULL,
        expires_at  {int} NOT NULL,
        seal        {bytes} NOT NULL,    -- of the signer, over all columns that do not change
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
        seal         {bytes} NOT NULL,   -- of the signer, over all columns that do not change
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
    CREATE TABLE audit_chain (
        chain    TEXT PRIMARY KEY,       -- the process that writes it: its host, and its number among several
        sequence {int} NOT NULL,         -- how many entries it has
        hash     TEXT NOT NULL           -- of its newest entry
    ){strict}
    """,
    """
    CREATE TABLE audit (
        id     TEXT PRIMARY KEY,         -- sorts by time
        at     {int} NOT NULL,
        actor  TEXT NOT NULL,            -- person:NAME, node:NAME or system
        action TEXT NOT NULL,
        target TEXT NOT NULL,
        detail {bytes} NOT NULL,         -- JSON object, without secrets
        chain    TEXT NOT NULL REFERENCES audit_chain (chain),
        sequence {int} NOT NULL CHECK (sequence > 0),  -- its place in the chain, without gaps
        previous TEXT NOT NULL,          -- the hash of the entry before it in the chain; empty for the first
        hash     TEXT NOT NULL,          -- over all other columns
        UNIQUE (chain, sequence)
    ){strict}
    """,
    "CREATE INDEX audit_target ON audit (target, id)",
    """
    CREATE TABLE audit_rate (
        actor TEXT PRIMARY KEY,          -- a machine, whose entries of one hour are limited
        hour  {int} NOT NULL,            -- since the epoch
        count {int} NOT NULL             -- entries in this hour, also those that were only counted
    ){strict}
    """,
    "CREATE INDEX audit_rate_hour ON audit_rate (hour)",
)

# Entries are only added. An entry moves the head of its chain in the same statement. A restore inserts both, and moves nothing.
SQLITE = (
    """
    CREATE TRIGGER audit_moves_head AFTER INSERT ON audit BEGIN
        UPDATE audit_chain SET sequence = NEW.sequence, hash = NEW.hash
        WHERE chain = NEW.chain AND sequence = NEW.sequence - 1;
    END
    """,
    """
    CREATE TRIGGER audit_is_not_updated BEFORE UPDATE ON audit BEGIN
        SELECT RAISE(ABORT, 'the audit log is append-only');
    END
    """,
    """
    CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit BEGIN
        SELECT RAISE(ABORT, 'the audit log is append-only');
    END
    """,
    """
    CREATE TRIGGER audit_chain_goes_forward BEFORE UPDATE ON audit_chain
    WHEN NEW.chain <> OLD.chain OR NEW.sequence <> OLD.sequence + 1 BEGIN
        SELECT RAISE(ABORT, 'the head of a chain of the audit log only moves forward');
    END
    """,
    """
    CREATE TRIGGER audit_chain_is_not_deleted BEFORE DELETE ON audit_chain BEGIN
        SELECT RAISE(ABORT, 'the audit log is append-only');
    END
    """,
)
POSTGRESQL = (
    """
    CREATE FUNCTION audit_moves_head() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE audit_chain SET sequence = NEW.sequence, hash = NEW.hash
        WHERE chain = NEW.chain AND sequence = NEW.sequence - 1;
        RETURN NULL;
    END $$
    """,
    """
    CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'integrity_constraint_violation';
    END $$
    """,
    """
    CREATE FUNCTION audit_chain_goes_forward() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.chain <> OLD.chain OR NEW.sequence <> OLD.sequence + 1 THEN
            RAISE EXCEPTION 'the head of a chain of the audit log only moves forward'
            USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
    END $$
    """,
    "CREATE TRIGGER audit_moves_head AFTER INSERT ON audit FOR EACH ROW EXECUTE FUNCTION audit_moves_head()",
    """
    CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()
    """,
    """
    CREATE TRIGGER audit_chain_is_append_only BEFORE DELETE OR TRUNCATE ON audit_chain
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()
    """,
    """
    CREATE TRIGGER audit_chain_goes_forward BEFORE UPDATE ON audit_chain
    FOR EACH ROW EXECUTE FUNCTION audit_chain_goes_forward()
    """,
)
