"""Sessions of browsers: what a person's token was exchanged for."""

from precast.store.schema.migrations import Migration

MIGRATION = Migration(
    number=14,
    name="web sessions",
    runs_with=1,
    expand=(
        """
        CREATE TABLE web_session (
            id          TEXT PRIMARY KEY,
            secret_hash {bytes} NOT NULL,
            token       TEXT NOT NULL REFERENCES person_token (id),  -- what it was exchanged for; it ends with that
            created_at  {int} NOT NULL,
            expires_at  {int} NOT NULL
        ){strict}
        """,
        "CREATE INDEX web_session_token ON web_session (token, created_at, id)",
        "CREATE INDEX web_session_expires ON web_session (expires_at)",
    ),
)
