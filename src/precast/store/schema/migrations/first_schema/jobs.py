"""Tables of jobs: what was ordered, the attempts on each node, the output of commands, and who may change a node."""

TABLES = (
    """
    CREATE TABLE job (
        id          TEXT PRIMARY KEY,
        kind        TEXT NOT NULL,           -- apply, exec, facts, restart, reboot, release, plan
        body        {bytes} NOT NULL,        -- JSON: what is ordered, and the limits
        environment TEXT,                    -- NULL if its nodes are of several
        action      TEXT,                    -- the action that has started it
        work        TEXT NOT NULL,           -- a digest that jobs share whose nodes do the same
        made_by     TEXT NOT NULL,
        made_at     {int} NOT NULL,
        state       TEXT NOT NULL,           -- going, stopping, halting, aborting; then done, stopped, halted, aborted
        stopped_by  TEXT,
        ended_at    {int},
        nodes       {int} NOT NULL,
        round       {int} NOT NULL,          -- of its newest attempts
        changes     {int} NOT NULL,          -- the highest change number given to an attempt or an output
        owner       TEXT,                    -- the server that drives the job
        fence       {int} NOT NULL,          -- incremented with each new owner
        wake_at     {int} NOT NULL           -- when a server has to look at a job that none drives
    ){strict}
    """,
    """
    CREATE TABLE attempt (
        job         TEXT NOT NULL REFERENCES job (id),
        task        {int} NOT NULL,
        node        TEXT NOT NULL,
        n           {int} NOT NULL,          -- the round of the job
        is_newest   {int} NOT NULL,          -- 1 if the step has no later attempt
        place       {int} NOT NULL,          -- position in the order in which nodes get their turn
        batch       {int} NOT NULL,
        state       TEXT NOT NULL,
        reason      TEXT,
        number      {int},                   -- of its last change, 0 if there was none; NULL until the driver has seen that change
        queued_at   {int} NOT NULL,
        due_at      {int},                   -- when the wait in the present state ends
        until_at    {int},                   -- when it expires if no node has picked it up
        allowed     {int} NOT NULL,          -- how long a node may take after it was picked up
        ordered_at  {int},                   -- when the node got its turn; NULL if it has none
        claimed_at  {int},
        claim       {int},                   -- the number of the node's latest claim
        instance    TEXT,                    -- the local store that has claimed
        tries       {int} NOT NULL,          -- how often the node was looked for and was away
        looked_at   {int},                   -- the last time
        picked_at   {int},
        ended_at    {int},
        late        TEXT,                    -- the state that a result after the deadline has
        report      TEXT,                    -- the id of the node's own run
        message     TEXT,
        result      TEXT,                    -- JSON
        seal        {bytes},                 -- the signer's seal of the command for this node
        phase       TEXT,                    -- of a task that was picked up: pre-test, task, post-test
        futures     {int} NOT NULL DEFAULT 0,-- 1 if its catalog promises keys or needs some, 2 once its run has only waited
        PRIMARY KEY (job, task, node, n)
    ){strict}
    """,
    """
    CREATE TABLE job_output (
        job         TEXT NOT NULL REFERENCES job (id),
        task        {int} NOT NULL,
        node        TEXT NOT NULL,
        n           {int} NOT NULL,
        first       {int} NOT NULL,          -- the number of the first of these lines
        number      {int},                   -- as in attempt
        lines       {bytes} NOT NULL,        -- compressed JSON
        total       {int} NOT NULL,          -- bytes of the attempt's output until the end of these lines, uncompressed
        at          {int} NOT NULL,
        PRIMARY KEY (job, task, node, n, first)
    ){strict}
    """,
    """
    CREATE TABLE node_lock (
        node        TEXT PRIMARY KEY,
        job         TEXT NOT NULL,           -- the attempt that may change the node
        task        {int} NOT NULL,
        n           {int} NOT NULL,
        since       {int} NOT NULL
    ){strict}
    """,
    """
    CREATE TABLE attempt_wait (
        job         TEXT NOT NULL,           -- an attempt that runs, and waits for a step of any job
        task        {int} NOT NULL,
        node        TEXT NOT NULL,
        n           {int} NOT NULL,
        for_job     TEXT NOT NULL,
        for_task    {int} NOT NULL,
        for_node    TEXT NOT NULL,
        since       {int} NOT NULL,
        PRIMARY KEY (job, task, node, n, for_job, for_task, for_node)
    ){strict}
    """,
    "CREATE INDEX job_open ON job (id) WHERE ended_at IS NULL",
    "CREATE INDEX job_unowned ON job (wake_at) WHERE ended_at IS NULL AND owner IS NULL",
    "CREATE INDEX job_owned ON job (owner) WHERE ended_at IS NULL AND owner IS NOT NULL",
    "CREATE INDEX job_over ON job (ended_at, id) WHERE ended_at IS NOT NULL",
    "CREATE INDEX job_kind ON job (kind, id)",
    "CREATE INDEX job_environment ON job (environment, id)",
    "CREATE INDEX job_work ON job (work, id)",
    "CREATE INDEX job_action ON job (action, id) WHERE action IS NOT NULL",
    "CREATE INDEX attempt_due ON attempt (job, due_at) WHERE due_at IS NOT NULL",
    "CREATE INDEX attempt_number ON attempt (job, number)",
    "CREATE INDEX attempt_unseen ON attempt (job) WHERE number IS NULL",
    "CREATE INDEX attempt_open ON attempt (node, queued_at) WHERE state IN ('QUEUED', 'PICKED_UP')",
    "CREATE INDEX attempt_node ON attempt (node)",
    "CREATE INDEX attempt_refused ON attempt (ended_at) WHERE reason = 'refused'",
    "CREATE INDEX attempt_failed ON attempt (job, ended_at, node, task) WHERE state IN ('FAILED', 'EXPIRED')",
    "CREATE INDEX attempt_skipped ON attempt (job, reason) WHERE state = 'SKIPPED'",
    "CREATE INDEX attempt_turn ON attempt (job, node) WHERE state = 'QUEUED' AND ordered_at IS NOT NULL",
    "CREATE INDEX attempt_picked ON attempt (job, node) WHERE state = 'PICKED_UP'",
    "CREATE INDEX attempt_claimed ON attempt (node) WHERE state = 'QUEUED' AND claim IS NOT NULL",
    "CREATE INDEX job_output_number ON job_output (job, number)",
    "CREATE INDEX job_output_unseen ON job_output (job) WHERE number IS NULL",
    "CREATE INDEX job_output_node ON job_output (node)",
)
POSTGRESQL = ("ALTER TABLE job_output ALTER COLUMN lines SET STORAGE EXTERNAL",)
