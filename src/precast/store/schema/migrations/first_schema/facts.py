"""Tables of facts: the inbox, the current fact set of each node, and its history."""

TABLES = (
    """
    CREATE TABLE fact_inbox (            -- acknowledged, but not processed yet; the newest set of a node replaces the earlier one
        node        TEXT PRIMARY KEY REFERENCES node (name),
        digest      TEXT NOT NULL,
        stable      {bytes} NOT NULL,    -- canonical JSON
        volatile    {bytes} NOT NULL,
        received_at {int} NOT NULL
    ){strict}
    """,
    """
    CREATE TABLE fact_set (
        node        TEXT PRIMARY KEY REFERENCES node (name),
        digest      TEXT NOT NULL,       -- of the stable part
        stable      {bytes} NOT NULL,
        received_at {int} NOT NULL,
        decision    TEXT NOT NULL,       -- whether this fact set led to a compile, in words
        decided_at  {int} NOT NULL,
        allowed_at  {int} NOT NULL,      -- until when the compile allowance of this node is used up
        recent      {bytes}              -- compressed JSON: the paths that changed in the last submissions
    ){strict}
    """,
    """
    CREATE TABLE fact_volatile (         -- a table of its own, because it is small and changes all the time
        node        TEXT PRIMARY KEY REFERENCES node (name),
        body        {bytes} NOT NULL,
        received_at {int} NOT NULL,
        submissions {int} NOT NULL DEFAULT 0
    ){strict}
    """,
    """
    CREATE TABLE fact_brief (
        node   TEXT PRIMARY KEY REFERENCES node (name),
        digest TEXT NOT NULL,            -- of the stable part it was made from; the brief is valid for no other
        body   {bytes} NOT NULL          -- compressed JSON: the small facts, and the paths of the facts left out
    ){strict}
    """,
    """
    CREATE TABLE fact_change (
        node   TEXT NOT NULL REFERENCES node (name),
        at     {int} NOT NULL,
        path   TEXT NOT NULL,            -- JSON pointer
        before {bytes},                  -- JSON; NULL if the fact did not exist
        after  {bytes},
        PRIMARY KEY (node, at, path)
    ){strict}
    """,
    """
    CREATE TABLE fact_history (
        node    TEXT NOT NULL REFERENCES node (name),
        at      {int} NOT NULL,
        count   {int} NOT NULL,          -- how many paths changed
        changes {bytes} NOT NULL,        -- compressed JSON: path, before, after of each
        PRIMARY KEY (node, at)
    ){strict}{by_time}
    """,
    "CREATE INDEX fact_history_at ON fact_history (at)",
    """
    CREATE TABLE fact_flap (
        node           TEXT NOT NULL REFERENCES node (name),
        path           TEXT NOT NULL,    -- JSON pointer
        times          {int} NOT NULL,   -- changes whose compile was delayed
        since          {int} NOT NULL,
        last_at        {int} NOT NULL,
        PRIMARY KEY (node, path)
    ){strict}
    """,
    "CREATE INDEX fact_flap_last ON fact_flap (last_at)",
)
POSTGRESQL = (
    "CREATE TABLE fact_history_rest PARTITION OF fact_history DEFAULT",
    # Precast compresses these columns itself.
    "ALTER TABLE fact_inbox ALTER COLUMN stable SET STORAGE EXTERNAL",
    "ALTER TABLE fact_inbox ALTER COLUMN volatile SET STORAGE EXTERNAL",
    "ALTER TABLE fact_set ALTER COLUMN stable SET STORAGE EXTERNAL",
    "ALTER TABLE fact_set ALTER COLUMN recent SET STORAGE EXTERNAL",
    "ALTER TABLE fact_volatile ALTER COLUMN body SET STORAGE EXTERNAL",
    "ALTER TABLE fact_brief ALTER COLUMN body SET STORAGE EXTERNAL",
    "ALTER TABLE fact_history ALTER COLUMN changes SET STORAGE EXTERNAL",
)
