"""Requests for certificates that an operator decides on; and of each certificate, who gave it, and whether it is in use."""

from precast.store.schema.migrations import Migration

MIGRATION = Migration(
    number=5,
    name="requests",
    runs_with=1,
    expand=(
        """
        CREATE TABLE enrolment_request (
            node         TEXT NOT NULL,
            key_digest   TEXT NOT NULL,      -- sha256 of the key: only it gets the answer
            request      {bytes} NOT NULL,   -- PEM
            address      TEXT NOT NULL,      -- who asked
            requested_at {int} NOT NULL,
            expires_at   {int} NOT NULL,     -- then the row goes, whatever came of it
            certificate  {bytes},            -- PEM, once it is signed
            rejected_at  {int},
            PRIMARY KEY (node, key_digest)
        ){strict}
        """,
        "CREATE INDEX enrolment_request_expires ON enrolment_request (expires_at)",
        # Fingerprint of the authority; empty for what was given when there could be only one.
        "ALTER TABLE certificate ADD COLUMN authority TEXT NOT NULL DEFAULT ''",
        # When it was first shown, and when a newer one was: then this one gives way.
        "ALTER TABLE certificate ADD COLUMN seen_at {int}",
        "ALTER TABLE certificate ADD COLUMN superseded_at {int}",
    ),
)
