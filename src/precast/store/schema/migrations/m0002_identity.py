"""Who is who: nodes and their certificates, tokens of people and for enrolment, and the audit log."""

from precast.store.schema.migrations import Migration

MIGRATION = Migration(
    number=2,
    name="identity",
    runs_with=1,
    expand=(
        """
        CREATE TABLE node (
            name           TEXT PRIMARY KEY,
            created_at     {int} NOT NULL,
            deactivated_at {int}
        ){strict}
        """,
        """
        CREATE TABLE certificate (
            serial      TEXT PRIMARY KEY,    -- lower-case hex
            node        TEXT NOT NULL REFERENCES node (name),
            key_digest  TEXT NOT NULL,       -- sha256 of its public key
            extensions  {bytes} NOT NULL,    -- JSON object: what trusted.extensions shows
            issued_at   {int} NOT NULL,
            not_after   {int} NOT NULL,
            revoked_at  {int},
            revoked_why TEXT
        ){strict}
        """,
        "CREATE INDEX certificate_node ON certificate (node, issued_at)",
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
        CREATE TABLE audit (
            id     TEXT PRIMARY KEY,         -- sorted by time
            at     {int} NOT NULL,
            actor  TEXT NOT NULL,            -- person:NAME, node:NAME or system
            action TEXT NOT NULL,
            target TEXT NOT NULL,
            detail {bytes} NOT NULL          -- JSON object, without secrets
        ){strict}
        """,
        "CREATE INDEX audit_target ON audit (target, id)",
    ),
)
