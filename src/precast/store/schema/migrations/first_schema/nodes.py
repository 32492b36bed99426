"""Tables of nodes: their classification, and the policy that limits what an agent does by itself."""

TABLES = (
    """
    CREATE TABLE node (
        name           TEXT PRIMARY KEY,
        created_at     {int} NOT NULL,
        deactivated_at {int},
        environment    TEXT,                 -- the classification that results from all rows of node_said
        role           TEXT,
        classes        TEXT,                 -- JSON: parameters by class
        parameters     TEXT                  -- JSON
    ){strict}
    """,
    "CREATE INDEX node_deactivated ON node (deactivated_at) WHERE deactivated_at IS NOT NULL",
    "CREATE INDEX node_environment ON node (environment, name)",
    """
    CREATE TABLE node_said (                 -- what each source says about a node
        node        TEXT NOT NULL REFERENCES node (name),
        source      TEXT NOT NULL,           -- operator, rules, enc
        detail      TEXT NOT NULL,           -- which rule or which program
        environment TEXT,
        role        TEXT,
        classes     TEXT,
        parameters  TEXT,
        said_at     {int} NOT NULL,
        problem     TEXT,                    -- why the source could not be asked again; the row is then its last answer
        problem_at  {int},
        PRIMARY KEY (node, source)
    ){strict}
    """,
    "CREATE INDEX node_said_problem ON node_said (problem_at) WHERE problem_at IS NOT NULL",
    """
    CREATE TABLE node_rule (                 -- the matching rule with the lowest number classifies the node
        number      {int} PRIMARY KEY,
        name        TEXT,                    -- a glob or /expression/ for the certname; NULL matches any
        extensions  TEXT NOT NULL,           -- JSON: values that extensions of the certificate must have
        environment TEXT,
        role        TEXT,
        classes     TEXT,
        parameters  TEXT,
        created_by  TEXT NOT NULL,
        created_at  {int} NOT NULL
    ){strict}
    """,
    """
    CREATE TABLE node_policy (
        node        TEXT PRIMARY KEY REFERENCES node (name),
        serial      {int} NOT NULL,          -- only grows, also if the node is deleted and enrols again
        enforce     TEXT NOT NULL,           -- never, triggered, window, always
        windows     TEXT NOT NULL,           -- JSON: the maintenance windows as operators write them
        set_by      TEXT NOT NULL,
        set_at      {int} NOT NULL,
        seal        {bytes} NOT NULL         -- of the signer, over node, serial, enforce and windows
    ){strict}
    """,
    "CREATE INDEX node_policy_set ON node_policy (set_at, node)",
)
