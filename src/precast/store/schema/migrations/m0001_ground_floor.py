"""Work queue and numbered streams."""

from precast.store.schema.migrations import Migration

MIGRATION = Migration(
    number=1,
    name="ground floor",
    runs_with=1,
    expand=(
        """
        CREATE TABLE work_item (
            kind               TEXT NOT NULL,
            key                TEXT NOT NULL,
            lane               TEXT NOT NULL,   -- items of one lane take turns with those of others
            payload            {bytes} NOT NULL,
            generation         {int} NOT NULL,  -- grows each time the item is asked for again
            turn               {int} NOT NULL,  -- place in the fair order
            due_at             {int} NOT NULL,  -- not before
            ready_at           {int} NOT NULL,  -- may be claimed from: due, after backoff, or when its lease ends
            queued_at          {int} NOT NULL,
            attempts           {int} NOT NULL,
            last_error         TEXT,
            owner              TEXT,            -- who holds the lease, if anyone
            fence              {int} NOT NULL,  -- grows with each claim
            claimed_generation {int},           -- what the owner is working on
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
        """
        CREATE TABLE stream (
            name    TEXT PRIMARY KEY,
            last    {int} NOT NULL,  -- the number given last
            trimmed {int} NOT NULL   -- records up to this number are gone
        ){strict}
        """,
        """
        CREATE TABLE stream_record (
            stream TEXT NOT NULL REFERENCES stream (name),
            number {int} NOT NULL,
            body   {bytes} NOT NULL,
            at     {int} NOT NULL,
            PRIMARY KEY (stream, number)
        ){strict}
        """,
    ),
    expand_only={
        "SQLite": (
            "CREATE TABLE work_fence (last INTEGER NOT NULL) STRICT",
            "INSERT INTO work_fence (last) VALUES (0)",
        ),
        "PostgreSQL": (
            # A sequence takes no lock that outlives the call; a counter row would put all claimers in one line.
            "CREATE SEQUENCE work_fence",
            # Bodies are kept as they are: most are compressed already, and reading them should cost nothing.
            "ALTER TABLE work_item ALTER COLUMN payload SET STORAGE EXTERNAL",
            "ALTER TABLE stream_record ALTER COLUMN body SET STORAGE EXTERNAL",
        ),
    },
)
