"""The SQL of actions. Only `actions` uses it.

A scheduler handles a due time in one transaction, which begins with the update of the action's `next_at` from the value that was read:
of two schedulers one changes the row. The key of a due time keeps it from being handled again, also if `next_at` were set back.
"""

from precast.store.engine.query import Query

ADD = Query(
    "actions.add",
    """
    INSERT INTO action (id, name, kind, body, environment, made_by, token, made_at, state, request, approvals, event, next_at)
    VALUES (:id, :name, :kind, :body, :environment, :actor, :token, :now, :state, :request_id, 0, :event, :next_at)
    """,
)
ADD_NODE = Query(
    "actions.add_node", "INSERT INTO action_node (action, place, node, seal) VALUES (:action, :place, :node, :seal)"
)
SHOW = Query(
    "actions.show",
    """
    SELECT id, name, kind, body, environment, made_by, token, made_at, state, request, approvals, event, next_at, ended_at,
        message
    FROM action WHERE id = :id
    """,
)
LOCK = Query(
    "actions.lock",
    """
    -- Locks the row until the commit, without changing it.
    UPDATE action SET state = state WHERE id = :id
    RETURNING id, name, kind, body, environment, made_by, token, made_at, state, request, approvals, event, next_at, ended_at,
        message
    """,
)
LIST = Query(
    "actions.list",
    """
    -- The newest first, below an id.
    SELECT id, name, kind, body, environment, made_by, token, made_at, state, request, approvals, event, next_at, ended_at,
        message
    FROM action WHERE id < :before ORDER BY id DESC LIMIT :limit
    """,
)
LIST_OF = Query(
    "actions.list_of",
    """
    -- Those of one environment.
    SELECT id, name, kind, body, environment, made_by, token, made_at, state, request, approvals, event, next_at, ended_at,
        message
    FROM action WHERE environment = :environment AND id < :before ORDER BY id DESC LIMIT :limit
    """,
)
LIST_DUE = Query(
    "actions.list_due",
    """
    -- Actions whose time has come, after one of them.
    SELECT id, name, kind, body, environment, made_by, token, made_at, state, request, approvals, event, next_at, ended_at,
        message
    FROM action WHERE next_at IS NOT NULL AND next_at <= :now AND (next_at, id) > (:after_at, :after_id)
    ORDER BY next_at, id LIMIT :limit
    """,
)
NEXT = Query(
    "actions.next",
    """
    -- The first row of each index: when the next action is due, and whether a due time is to be handled.
    SELECT (SELECT min(next_at) FROM action WHERE next_at IS NOT NULL),
        (SELECT min(due_at) FROM action_due WHERE decided_at IS NULL)
    """,
)
MOVE = Query(
    "actions.move",
    """
    -- The compare-and-set that every scheduler's transaction begins with.
    UPDATE action SET next_at = :next_at, state = :state, message = :message, ended_at = :ended_at
    WHERE id = :id AND state = 'active' AND next_at = :seen_at RETURNING id
    """,
)
SET_STATE = Query(
    "actions.set_state",
    "UPDATE action SET state = :state, message = :message, next_at = :next_at, ended_at = :ended_at WHERE id = :id",
)
APPROVE = Query(
    "actions.approve",
    """
    UPDATE action SET state = 'active', approvals = :count, next_at = :next_at, message = NULL
    WHERE id = :id AND state = 'awaiting-approval' RETURNING id
    """,
)
END_UNAPPROVED = Query(
    "actions.end_unapproved",
    """
    UPDATE action SET state = 'cancelled', ended_at = :now, message = :message
    WHERE state = 'awaiting-approval' AND made_at < :before_at
    """,
)
COUNT_UNENDED = Query("actions.count_unended", "SELECT count(*) FROM action WHERE ended_at IS NULL")
NODES = Query("actions.nodes", "SELECT node, seal FROM action_node WHERE action = :action ORDER BY place")
COUNT_NODES = Query("actions.count_nodes", "SELECT count(*) FROM action_node WHERE action = :action")
# Due times
ADD_DUE = Query(
    "actions.add_due",
    """
    INSERT INTO action_due (action, due_at, node, cause, state, count, job, message, decided_at)
    VALUES (:action, :due_at, :node, :cause, :state, :count, :job_id, :message, :decided_at)
    ON CONFLICT (action, due_at, node) DO NOTHING RETURNING action
    """,
)
ADD_EVENT = Query(
    "actions.add_event",
    """
    -- A node has connected: a due time of each action that waits for that, unless one of this node waits already.
    INSERT INTO action_due (action, due_at, node, cause, state, count)
    SELECT id, CAST(:now AS BIGINT), :node, :event, 'due', 1 FROM action
    WHERE event = :event AND state = 'active' AND NOT EXISTS (
        SELECT 1 FROM action_due WHERE action_due.action = action.id AND action_due.node = :node AND decided_at IS NULL
    )
    ON CONFLICT (action, due_at, node) DO NOTHING RETURNING action
    """,
)
LIST_OPEN = Query(
    "actions.list_open",
    """
    SELECT action, due_at, node, cause, state, count, job, message, decided_at FROM action_due
    WHERE decided_at IS NULL AND (due_at, action, node) > (:after_at, :action, :node)
    ORDER BY due_at, action, node LIMIT :limit
    """,
)
LIST_OPEN_OF = Query(
    "actions.list_open_of",
    """
    SELECT action, due_at, node, cause, state, count, job, message, decided_at FROM action_due
    WHERE action = :action AND decided_at IS NULL
    """,
)
DECIDE = Query(
    "actions.decide",
    """
    UPDATE action_due SET state = :state, job = :job_id, message = :message, decided_at = :now
    WHERE action = :action AND due_at = :due_at AND node = :node AND decided_at IS NULL RETURNING action
    """,
)
DECIDE_OPEN = Query(
    "actions.decide_open",
    """
    UPDATE action_due SET state = :state, message = :message, decided_at = :now
    WHERE action = :action AND decided_at IS NULL
    """,
)
HAS_OPEN = Query(
    "actions.has_open",
    "SELECT 1 FROM action_due WHERE action = :action AND node = '' AND decided_at IS NULL LIMIT 1",
)
DUE = Query(
    "actions.due",
    """
    SELECT action, due_at, node, cause, state, count, job, message, decided_at FROM action_due WHERE action = :action
    ORDER BY due_at DESC, node DESC LIMIT :limit
    """,
)
MISSED = Query(
    "actions.missed",
    "SELECT COALESCE(sum(count), 0) FROM action_due WHERE state = 'missed' AND due_at > :since",
)
# Deleting
OLD = Query(
    "actions.old",
    "SELECT id FROM action WHERE ended_at IS NOT NULL AND ended_at < :before_at ORDER BY ended_at, id LIMIT :limit",
)
OLD_DUE = Query(
    "actions.old_due",
    """
    SELECT action, due_at, node FROM action_due WHERE decided_at IS NOT NULL AND decided_at < :before_at
    ORDER BY decided_at LIMIT :limit
    """,
)
DELETE_ONE_DUE = Query(
    "actions.delete_one_due",
    "DELETE FROM action_due WHERE action = :action AND due_at = :due_at AND node = :node",
)
DELETE_DUE = Query("actions.delete_due", "DELETE FROM action_due WHERE action = :action")
DELETE_NODES = Query("actions.delete_nodes", "DELETE FROM action_node WHERE action = :action")
DELETE = Query("actions.delete", "DELETE FROM action WHERE id = :id")
DELETE_NODE_DUE = Query("actions.delete_node_due", "DELETE FROM action_due WHERE node = :node AND node <> ''")
DELETE_NODE = Query("actions.delete_node", "DELETE FROM action_node WHERE node = :node")
