"""Tables of sessions: servers, the session of each node, and the numbered streams between the two."""

TABLES = (
    """
    CREATE TABLE stream (
        name    TEXT PRIMARY KEY,
        last    {int} NOT NULL,  -- the number given last
        trimmed {int} NOT NULL   -- records up to this number are deleted
    ){strict}
    """,
    "CREATE INDEX stream_waiting ON stream (name) WHERE last > trimmed",
    """
    CREATE TABLE stream_record (
        stream TEXT NOT NULL REFERENCES stream (name),
        number {int} NOT NULL,
        body   {bytes} NOT NULL,
        at     {int} NOT NULL,
        PRIMARY KEY (stream, number)
    ){strict}
    """,
    """
    CREATE TABLE server (                -- a process that serves nodes; its sessions are valid as long as its lease
        id          TEXT PRIMARY KEY,    -- a new one at each start
        name        TEXT NOT NULL,       -- host and port, for people
        started_at  {int} NOT NULL,
        lease_until {int} NOT NULL,
        connections {int} NOT NULL
    ){strict}
    """,
    """
    CREATE TABLE session (               -- written when a node connects and disconnects, not in between
        node            TEXT PRIMARY KEY REFERENCES node (name),
        epoch           {int} NOT NULL,  -- incremented each time the node connects
        server          TEXT,            -- the server it is connected to; NULL if it is not connected
        instance        TEXT NOT NULL,   -- of the node's local store
        attempts        TEXT NOT NULL,   -- JSON: the node's own ids of its last connection attempts, newest first; copies lack them
        machine_id      TEXT NOT NULL,   -- as the machine says; empty if it has none that lasts
        machine         TEXT NOT NULL,   -- its name in session_machine, if it had one before an operator chose it
        address         TEXT NOT NULL,
        boot_id         TEXT NOT NULL,
        agent           TEXT NOT NULL,
        connected_at    {int} NOT NULL,
        disconnected_at {int},
        lost            {int} NOT NULL,  -- records the node had to drop
        held_at         {int}            -- since when no machine gets orders, because several use the certificate
    ){strict}
    """,
    "CREATE INDEX session_server ON session (server) WHERE server IS NOT NULL",
    "CREATE INDEX session_connected ON session (connected_at)",
    "CREATE INDEX session_held ON session (held_at) WHERE held_at IS NOT NULL",
    """
    CREATE TABLE session_machine (       -- machines that use a node's certificate and are not the node at present
        node       TEXT NOT NULL REFERENCES node (name),
        machine    TEXT NOT NULL,        -- its name for operators
        instance   TEXT NOT NULL,
        attempts   TEXT NOT NULL,
        machine_id TEXT NOT NULL,
        boot_id    TEXT NOT NULL,
        address    TEXT NOT NULL,
        agent      TEXT NOT NULL,
        given      {int},                -- the highest number of its records; NULL if not known
        first_at   {int} NOT NULL,
        last_at    {int} NOT NULL,
        refused_at {int},                -- when an operator chose another machine
        PRIMARY KEY (node, machine)
    ){strict}
    """,
    """
    CREATE TABLE session_stream (
        node     TEXT NOT NULL REFERENCES node (name),
        instance TEXT NOT NULL,
        received {int} NOT NULL,         -- the node's records up to this number are stored
        at       {int} NOT NULL,
        PRIMARY KEY (node, instance)
    ){strict}
    """,
    """
    CREATE TABLE site_term (             -- one row: which database of this site this is, of those that were the newest
        id       {int} PRIMARY KEY CHECK (id = 1),
        term     {int} NOT NULL,         -- grows when a standby is promoted or a backup is restored; no backup has it
        timeline TEXT NOT NULL           -- PostgreSQL's number of promotions when the term began
    ){strict}
    """,
)
POSTGRESQL = ("ALTER TABLE stream_record ALTER COLUMN body SET STORAGE EXTERNAL",)
