"""Tables of futures: what catalogs promise and need, the values that stand in environments, the promises of jobs, and who waits."""

TABLES = (
    """
    CREATE TABLE catalog_future (            -- written with the catalog; it decides who may promise and read a key
        document    TEXT NOT NULL REFERENCES document (digest) ON DELETE CASCADE,
        role        TEXT NOT NULL,           -- promise, need
        key         TEXT NOT NULL,
        scope       TEXT NOT NULL,           -- of a promise: environment, run; empty for a need
        PRIMARY KEY (document, role, key)
    ){strict}
    """,
    "CREATE INDEX catalog_future_key ON catalog_future (key, role, document)",
    """
    CREATE TABLE standing_value (
        environment TEXT NOT NULL,
        key         TEXT NOT NULL,
        node        TEXT NOT NULL,           -- that promised it; empty for a value that a person has put
        source      TEXT NOT NULL,           -- catalog, entry, person
        number      {int} NOT NULL,          -- grows with each change
        value       {bytes} NOT NULL,        -- canonical JSON, sealed if it is sensitive
        is_sensitive {int} NOT NULL,
        digest      TEXT NOT NULL,           -- of the value; of a sensitive one its reference
        instance    TEXT NOT NULL,           -- the node's local store
        fence       {int} NOT NULL,          -- the number of the lease of the run that promised it
        said_by     TEXT NOT NULL,           -- the attempt, the report of a run outside of jobs, or the person
        fulfilled_at {int} NOT NULL,         -- when it was last promised
        changed_at  {int} NOT NULL,
        expires_at  {int},
        PRIMARY KEY (environment, key, node)
    ){strict}
    """,
    "CREATE INDEX standing_value_node ON standing_value (node)",
    "CREATE INDEX standing_value_expires ON standing_value (expires_at) WHERE expires_at IS NOT NULL",
    """
    CREATE TABLE job_promise (               -- what the members of a job promise; written with its attempts
        job         TEXT NOT NULL REFERENCES job (id),
        key         TEXT NOT NULL,
        node        TEXT NOT NULL,
        task        {int} NOT NULL,
        n           {int} NOT NULL,          -- of the attempt that promises it
        environment TEXT NOT NULL,
        state       TEXT NOT NULL,           -- pending, fulfilled, failed
        number      {int} NOT NULL,          -- grows with each change
        value       {bytes},                 -- as in standing_value
        is_sensitive {int} NOT NULL,
        digest      TEXT NOT NULL,
        reason      TEXT NOT NULL,           -- why it failed
        changed_at  {int} NOT NULL,
        expires_at  {int},
        PRIMARY KEY (job, key, node, task)
    ){strict}
    """,
    "CREATE INDEX job_promise_pending ON job_promise (job, task, node, n) WHERE state = 'pending'",
    "CREATE INDEX job_promise_node ON job_promise (node) WHERE state = 'pending'",
    """
    CREATE TABLE future_wait (               -- resources of running attempts that wait for a key
        job         TEXT NOT NULL REFERENCES job (id),
        task        {int} NOT NULL,
        node        TEXT NOT NULL,
        n           {int} NOT NULL,
        resource    TEXT NOT NULL,
        key         TEXT NOT NULL,
        is_idle     {int} NOT NULL,          -- 1 if the run has nothing else to do
        since       {int} NOT NULL,
        due_at      {int} NOT NULL,          -- when the resource fails
        PRIMARY KEY (job, task, node, n, resource, key)
    ){strict}
    """,
    """
    CREATE TABLE future_binding (            -- which values the resources of attempts were given
        job         TEXT NOT NULL REFERENCES job (id),
        key         TEXT NOT NULL,
        producer    TEXT NOT NULL,
        node        TEXT NOT NULL,
        task        {int} NOT NULL,
        n           {int} NOT NULL,
        resource    TEXT NOT NULL,
        number      {int} NOT NULL,          -- of the value
        is_standing {int} NOT NULL,
        bound_at    {int} NOT NULL,
        PRIMARY KEY (job, key, producer, node, task, n, resource)
    ){strict}
    """,
    "CREATE INDEX future_binding_attempt ON future_binding (job, task, node, n)",
)
POSTGRESQL = (
    "ALTER TABLE standing_value ALTER COLUMN value SET STORAGE EXTERNAL",
    "ALTER TABLE job_promise ALTER COLUMN value SET STORAGE EXTERNAL",
)
