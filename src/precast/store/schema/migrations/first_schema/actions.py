"""Tables of actions: what is scheduled, for which nodes, and what became of each due time."""

TABLES = (
    """
    CREATE TABLE action (
        id          TEXT PRIMARY KEY,
        name        TEXT NOT NULL,
        kind        TEXT NOT NULL,           -- run, release, command, facts, restart, reboot
        body        {bytes} NOT NULL,        -- JSON: what, where, when and how
        environment TEXT,                    -- NULL if its nodes are of several
        made_by     TEXT NOT NULL,
        token       TEXT NOT NULL,           -- the id of its owner's token
        made_at     {int} NOT NULL,
        state       TEXT NOT NULL,           -- awaiting-approval, active, paused; then ended, cancelled
        request     TEXT,                    -- the request for its approval
        approvals   {int} NOT NULL,          -- how many people have approved it
        event       TEXT,                    -- return, enrolment: it is due when a node connects
        next_at     {int},                   -- when the scheduler has to look at it next
        ended_at    {int},
        message     TEXT                     -- why it is in its state, in words
    ){strict}
    """,
    """
    CREATE TABLE action_node (
        action      TEXT NOT NULL REFERENCES action (id),
        place       {int} NOT NULL,          -- position in the order of its nodes
        node        TEXT NOT NULL,
        seal        {bytes},                 -- the signer's seal of the command for this node
        PRIMARY KEY (action, place)
    ){strict}
    """,
    """
    CREATE TABLE action_due (
        action      TEXT NOT NULL REFERENCES action (id),
        due_at      {int} NOT NULL,
        node        TEXT NOT NULL,           -- that has connected; empty if all nodes of the action are due
        cause       TEXT NOT NULL,           -- time, person, return, enrolment
        state       TEXT NOT NULL,           -- due, queued; then started, skipped, missed, failed
        count       {int} NOT NULL,          -- how many due times the row stands for
        job         TEXT,
        message     TEXT,
        decided_at  {int},                   -- NULL while it is due or queued
        PRIMARY KEY (action, due_at, node)
    ){strict}
    """,
    "CREATE INDEX action_next ON action (next_at, id) WHERE next_at IS NOT NULL",
    "CREATE INDEX action_event ON action (event, id) WHERE event IS NOT NULL AND state = 'active'",
    "CREATE INDEX action_awaiting ON action (made_at) WHERE state = 'awaiting-approval'",
    "CREATE INDEX action_unended ON action (id) WHERE ended_at IS NULL",
    "CREATE INDEX action_ended ON action (ended_at, id) WHERE ended_at IS NOT NULL",
    "CREATE INDEX action_environment ON action (environment, id)",
    "CREATE INDEX action_node_node ON action_node (node)",
    "CREATE INDEX action_due_open ON action_due (due_at, action, node) WHERE decided_at IS NULL",
    "CREATE INDEX action_due_missed ON action_due (due_at) WHERE state = 'missed'",
    "CREATE INDEX action_due_decided ON action_due (decided_at) WHERE decided_at IS NOT NULL",
    "CREATE INDEX action_due_node ON action_due (node) WHERE node <> ''",
)
