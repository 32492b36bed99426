"""Sessions of nodes: who is connected where, and how far each side has stored what the other sent."""

from precast.store.schema.migrations import Migration

MIGRATION = Migration(
    number=4,
    name="sessions",
    runs_with=1,
    expand=(
        """
        CREATE TABLE server (                -- a process that serves nodes; its lease is what its sessions live by
            id          TEXT PRIMARY KEY,    -- made anew at each start
            name        TEXT NOT NULL,       -- host and port, for people
            started_at  {int} NOT NULL,
            lease_until {int} NOT NULL,
            connections {int} NOT NULL
        ){strict}
        """,
        """
        CREATE TABLE session (               -- written when a node comes and goes, not in between
            node            TEXT PRIMARY KEY REFERENCES node (name),
            epoch           {int} NOT NULL,  -- grows each time the node comes
            server          TEXT,            -- where it is connected, if it is
            instance        TEXT NOT NULL,   -- of the node's local store
            attempt         TEXT NOT NULL,   -- which of the node's attempts this is: who does not know it is somebody else
            address         TEXT NOT NULL,
            boot_id         TEXT NOT NULL,
            agent           TEXT NOT NULL,
            connected_at    {int} NOT NULL,
            disconnected_at {int},
            lost            {int} NOT NULL,  -- records the node had to drop
            clone_at        {int},           -- when somebody else came with the same identity
            clone_address   TEXT
        ){strict}
        """,
        "CREATE INDEX session_server ON session (server) WHERE server IS NOT NULL",
        "CREATE INDEX session_connected ON session (connected_at)",
        """
        CREATE TABLE session_stream (
            node     TEXT NOT NULL REFERENCES node (name),
            instance TEXT NOT NULL,
            received {int} NOT NULL,         -- of the node's records, stored through this number
            at       {int} NOT NULL,
            PRIMARY KEY (node, instance)
        ){strict}
        """,
        "CREATE INDEX stream_waiting ON stream (name) WHERE last > trimmed",
        "CREATE INDEX certificate_revoked ON certificate (revoked_at) WHERE revoked_at IS NOT NULL",
    ),
)
