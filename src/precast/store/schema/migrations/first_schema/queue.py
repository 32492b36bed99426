"""Tables of the work queue."""

TABLES = (
    """
    CREATE TABLE work_item (
        kind               TEXT NOT NULL,
        key                TEXT NOT NULL,
        lane               TEXT NOT NULL,   -- the lanes of a kind take turns
        payload            {bytes} NOT NULL,
        generation         {int} NOT NULL,  -- incremented each time the item is enqueued again
        turn               {int} NOT NULL,  -- position in the fair order
        due_at             {int} NOT NULL,  -- the item is not claimed before this time
        ready_at           {int} NOT NULL,  -- claimable from this time: the due time, the end of the backoff, or the end of the lease
        queued_at          {int} NOT NULL,
        attempts           {int} NOT NULL,
        last_error         TEXT,
        owner              TEXT,            -- the worker that holds the lease; NULL while the item waits
        fence              {int} NOT NULL,  -- grows with each claim
        claimed_generation {int},           -- the generation that the owner works on
        PRIMARY KEY (kind, key)
    ){strict}
    """,
    "CREATE INDEX work_item_turn ON work_item (kind, turn, queued_at, key)",
    "CREATE INDEX work_item_lane ON work_item (kind, lane, turn)",
    "CREATE INDEX work_item_held ON work_item (kind, turn) WHERE owner IS NOT NULL",
    """
    CREATE TABLE work_dead (
        kind       TEXT NOT NULL,
        key        TEXT NOT NULL,
        lane       TEXT NOT NULL,
        payload    {bytes} NOT NULL,
        attempts   {int} NOT NULL,
        last_error TEXT NOT NULL,
        queued_at  {int} NOT NULL,
        died_at    {int} NOT NULL,
        PRIMARY KEY (kind, key)
    ){strict}
    """,
)
SQLITE = (
    "CREATE TABLE work_fence (last INTEGER NOT NULL) STRICT",
    "INSERT INTO work_fence (last) VALUES (0)",
)
POSTGRESQL = (
    # A sequence takes no lock that outlives the call; a counter row would serialise all claimers.
    "CREATE SEQUENCE work_fence",
    # Bodies are stored uncompressed by PostgreSQL: most are compressed already, and reads should not pay for decompression.
    "ALTER TABLE work_item ALTER COLUMN payload SET STORAGE EXTERNAL",
)
