"""Tables of jobs: what was ordered, one step for each node, and the output of commands."""

TABLES = (
    """
    CREATE TABLE run (
        id          TEXT PRIMARY KEY,        -- also the id of its orders
        kind        TEXT NOT NULL,           -- apply, exec
        body        {bytes} NOT NULL,        -- JSON: what is ordered, and the limits
        made_by     TEXT NOT NULL,
        made_at     {int} NOT NULL,
        state       TEXT NOT NULL,           -- going, stopping, halting; then done, stopped, halted
        stopped_by  TEXT,
        ended_at    {int},
        nodes       {int} NOT NULL,
        allowed     {int} NOT NULL,          -- how long a node may take after it has begun
        changes     {int} NOT NULL,          -- the highest change number given to a step or an output
        owner       TEXT,                    -- the server that drives the job
        fence       {int} NOT NULL,          -- incremented with each new owner
        lease_until {int} NOT NULL
    ){strict}
    """,
    """
    CREATE TABLE run_step (
        run         TEXT NOT NULL REFERENCES run (id),
        node        TEXT NOT NULL,
        place       {int} NOT NULL,          -- position in the order in which nodes get their turn
        batch       {int} NOT NULL,
        state       TEXT NOT NULL,
        number      {int},                   -- of its last change; NULL until the driver has seen that change
        due_at      {int},                   -- when the wait for the node ends
        ordered_at  {int},
        began_at    {int},
        ended_at    {int},
        report      TEXT,                    -- the id of the node's own run
        message     TEXT,
        result      TEXT,                    -- JSON
        seal        {bytes},                 -- the signer's seal of the command for this node
        PRIMARY KEY (run, node)
    ){strict}
    """,
    """
    CREATE TABLE run_output (
        run         TEXT NOT NULL REFERENCES run (id),
        node        TEXT NOT NULL,
        first       {int} NOT NULL,          -- the number of the first of these lines
        number      {int},                   -- as in run_step
        lines       {bytes} NOT NULL,        -- compressed JSON
        size        {int} NOT NULL,          -- uncompressed
        at          {int} NOT NULL,
        PRIMARY KEY (run, node, first)
    ){strict}
    """,
    "CREATE INDEX run_open ON run (id) WHERE ended_at IS NULL",
    "CREATE INDEX run_over ON run (ended_at, id) WHERE ended_at IS NOT NULL",
    "CREATE INDEX run_step_waiting ON run_step (run, place) WHERE state = 'waiting'",
    "CREATE INDEX run_step_due ON run_step (run, due_at) WHERE due_at IS NOT NULL",
    "CREATE INDEX run_step_number ON run_step (run, number)",
    "CREATE INDEX run_step_unseen ON run_step (run, node) WHERE number IS NULL",
    "CREATE INDEX run_step_node ON run_step (node)",
    "CREATE INDEX run_output_number ON run_output (run, number)",
    "CREATE INDEX run_output_unseen ON run_output (run, node, first) WHERE number IS NULL",
    "CREATE INDEX run_output_node ON run_output (node)",
)
POSTGRESQL = ("ALTER TABLE run_output ALTER COLUMN lines SET STORAGE EXTERNAL",)
