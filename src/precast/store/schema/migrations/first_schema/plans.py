"""Tables of plans: what a run has pinned, what people have let go, the data of the last successes, and the content of tasks."""

TABLES = (
    """
    CREATE TABLE plan_run (
        job         TEXT PRIMARY KEY REFERENCES job (id),
        plan        TEXT NOT NULL,        -- its name
        digest      TEXT NOT NULL,        -- of the plan
        document    {bytes} NOT NULL      -- compressed JSON: the plan, its nodes, what is skipped, the catalogs
    ){strict}
    """,
    """
    CREATE TABLE plan_program (           -- what nodes do for the tasks of a run
        job         TEXT NOT NULL REFERENCES job (id),
        task        {int} NOT NULL,
        digest      TEXT NOT NULL,
        program     {bytes} NOT NULL,     -- compressed JSON
        nodes       {bytes} NOT NULL,     -- compressed JSON: a list of names
        PRIMARY KEY (job, task, digest)
    ){strict}
    """,
    """
    CREATE TABLE plan_data (              -- the data of nodes that conditions compare
        digest      TEXT PRIMARY KEY,
        body        {bytes} NOT NULL,     -- compressed JSON
        stored_at   {int} NOT NULL
    ){strict}
    """,
    """
    CREATE TABLE plan_run_data (
        job         TEXT NOT NULL REFERENCES job (id),
        node        TEXT NOT NULL,
        data        TEXT NOT NULL REFERENCES plan_data (digest),
        PRIMARY KEY (job, node)
    ){strict}
    """,
    """
    CREATE TABLE plan_success (           -- the data of the last success of a task on a node
        environment TEXT NOT NULL,
        plan        TEXT NOT NULL,
        task        TEXT NOT NULL,        -- its id
        node        TEXT NOT NULL,
        data        TEXT NOT NULL REFERENCES plan_data (digest),
        at          {int} NOT NULL,
        PRIMARY KEY (environment, plan, task, node)
    ){strict}
    """,
    """
    CREATE TABLE plan_approval (          -- the tasks of a run that a person has let go
        job         TEXT NOT NULL REFERENCES job (id),
        task        {int} NOT NULL,
        by          TEXT NOT NULL,
        at          {int} NOT NULL,
        PRIMARY KEY (job, task)
    ){strict}
    """,
    "CREATE INDEX plan_run_data_data ON plan_run_data (data)",
    "CREATE INDEX plan_success_data ON plan_success (data)",
    "CREATE INDEX plan_success_node ON plan_success (node)",
    "CREATE INDEX plan_data_stored ON plan_data (stored_at)",
    """
    CREATE TABLE task_content (          -- the content that nodes of a job may read, and what they have collected for it
        job    TEXT NOT NULL REFERENCES job (id),
        node   TEXT NOT NULL,            -- '' for all nodes of the job
        digest TEXT NOT NULL,
        size   {int},                    -- of content that this node has collected; NULL if it may only read it
        PRIMARY KEY (job, node, digest)
    ){strict}
    """,
    """
    CREATE TABLE task_collection (       -- the tasks whose nodes may send content
        job  TEXT NOT NULL REFERENCES job (id),
        task {int} NOT NULL,
        PRIMARY KEY (job, task)
    ){strict}
    """,
    "CREATE INDEX task_content_collected ON task_content (job) WHERE size IS NOT NULL",
)
