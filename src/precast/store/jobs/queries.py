"""The SQL of jobs. Only `jobs` uses it.

One server at a time drives a job and proves that by owner and fence; each of its transactions checks them first. The answer of a node
changes only that node's step, without a lock on the job. When the driver looks for such changes it skips rows that are being written:
their writer wakes the driver after its commit.
"""

from precast.store.engine.query import Query

MAKE = Query(
    "jobs.make",
    """
    INSERT INTO run (id, kind, body, made_by, made_at, state, nodes, allowed, changes, fence, lease_until)
    VALUES (:run, :kind, :body, :actor, :now, 'going', :count, :allowed, 0, 0, 0)
    """,
)
MAKE_STEP = Query(
    "jobs.make_step",
    """
    INSERT INTO run_step (run, node, place, batch, state, ended_at, message, seal)
    VALUES (:run, :node, :place, :batch, :state, :ended_at, :message, :seal)
    """,
)
SHOW = Query(
    "jobs.show",
    """
    SELECT id, kind, body, made_by, made_at, state, stopped_by, ended_at, nodes, changes FROM run WHERE id = :run
    """,
)
LIST = Query(
    "jobs.list",
    """
    -- The newest first, below an id.
    SELECT id, kind, body, made_by, made_at, state, stopped_by, ended_at, nodes, changes FROM run
    WHERE id < :before ORDER BY id DESC LIMIT :limit
    """,
)
CLAIM = Query(
    "jobs.claim",
    """
    -- Jobs that no server drives, or whose driver's lease has ended.
    UPDATE run SET owner = :owner, fence = fence + 1, lease_until = :until WHERE id IN (
        SELECT id FROM run WHERE ended_at IS NULL AND (owner IS NULL OR lease_until < :now) ORDER BY id LIMIT :limit
    )
    RETURNING id, fence
    """,
    postgresql="""
    UPDATE run SET owner = :owner, fence = fence + 1, lease_until = :until WHERE id IN (
        SELECT id FROM run WHERE ended_at IS NULL AND (owner IS NULL OR lease_until < :now) ORDER BY id LIMIT :limit
        FOR UPDATE SKIP LOCKED
    )
    RETURNING id, fence
    """,
)
RENEW_LEASE = Query(
    "jobs.renew_lease",
    """
    -- Locks the job until the commit and renews its lease; no row if another server drives it by now.
    UPDATE run SET lease_until = :until
    WHERE id = :run AND owner = :owner AND fence = :fence AND ended_at IS NULL
    RETURNING id, kind, body, made_by, made_at, state, stopped_by, ended_at, nodes, changes
    """,
)
RELEASE_ALL = Query("jobs.let_go", "UPDATE run SET owner = NULL WHERE owner = :owner AND ended_at IS NULL")
ASK_TO_STOP = Query(
    "jobs.ask_to_stop",
    """
    UPDATE run SET state = 'stopping', stopped_by = :actor WHERE id = :run AND state IN ('going', 'halting') RETURNING id
    """,
)
SET_STATE = Query(
    "jobs.set_state",
    "UPDATE run SET state = :state, changes = :last, ended_at = :ended_at WHERE id = :run",
)
COUNTS = Query("jobs.counts", "SELECT state, count(*) FROM run_step WHERE run = :run GROUP BY state")
RUNNING = Query(
    "jobs.running",
    """
    -- The first batch that has an active node, and how many nodes are active.
    SELECT min(batch), count(*) FROM run_step WHERE run = :run AND state IN ('ordered', 'began')
    """,
)
WAITING = Query(
    "jobs.waiting",
    "SELECT node, batch FROM run_step WHERE run = :run AND state = 'waiting' ORDER BY place LIMIT :limit",
)
ORDER = Query(
    "jobs.order",
    """
    UPDATE run_step SET state = 'ordered', ordered_at = :now, due_at = :due_at, number = NULL
    WHERE run = :run AND node = :node AND state = 'waiting' RETURNING seal
    """,
)
LEAVE_OUT = Query(
    "jobs.leave_out",
    """
    -- A node that gets no order.
    UPDATE run_step SET state = :state, message = :message, ended_at = :now, number = NULL
    WHERE run = :run AND node = :node AND state = 'waiting'
    """,
)
LEAVE_OUT_ALL = Query(
    "jobs.leave_out_all",
    """
    UPDATE run_step SET state = :state, message = :message, ended_at = :now, number = NULL
    WHERE run = :run AND state = 'waiting'
    """,
)
EXPIRE = Query(
    "jobs.expire",
    """
    -- Nodes that did not begin or end in time, of waits that began after a time.
    UPDATE run_step SET ended_at = :now, due_at = NULL, number = NULL, state = 'silent',
        message = CASE state WHEN 'ordered' THEN :never_began ELSE :never_ended END
    WHERE run = :run AND node IN (
        SELECT node FROM run_step WHERE run = :run AND due_at <= :now AND state IN ('ordered', 'began')
            AND coalesce(began_at, ordered_at) >= :since
        ORDER BY node LIMIT :limit
    )
    RETURNING node
    """,
    postgresql="""
    UPDATE run_step SET ended_at = :now, due_at = NULL, number = NULL, state = 'silent',
        message = CASE state WHEN 'ordered' THEN :never_began ELSE :never_ended END
    WHERE run = :run AND node IN (
        SELECT node FROM run_step WHERE run = :run AND due_at <= :now AND state IN ('ordered', 'began')
            AND coalesce(began_at, ordered_at) >= :since
        ORDER BY node LIMIT :limit FOR UPDATE SKIP LOCKED
    )
    RETURNING node
    """,
)
BEGIN = Query(
    "jobs.begin",
    """
    -- A node has begun; from now on it may take as long as the job allows.
    UPDATE run_step SET state = 'began', began_at = :now, report = :report, number = NULL,
        due_at = :now + (SELECT allowed FROM run WHERE run.id = run_step.run)
    WHERE run = :run AND node = :node AND state = 'ordered' RETURNING run
    """,
)
END = Query(
    "jobs.end",
    """
    UPDATE run_step SET state = :state, ended_at = :now, due_at = NULL, number = NULL,
        report = COALESCE(:report, report), message = :message, result = :result
    WHERE run = :run AND node = :node AND state IN ('ordered', 'began') RETURNING run
    """,
)
ADD_LATE = Query(
    "jobs.add_late",
    """
    -- An answer after the timeout is stored, but does not change the state of the step.
    UPDATE run_step SET report = COALESCE(:report, report), message = :message, result = :result, number = NULL
    WHERE run = :run AND node = :node AND state = 'silent' AND result IS NULL RETURNING run
    """,
)
UNSEEN = Query(
    "jobs.unseen",
    "SELECT node FROM run_step WHERE run = :run AND number IS NULL ORDER BY node LIMIT :limit",
    postgresql="""
    SELECT node FROM run_step WHERE run = :run AND number IS NULL ORDER BY node LIMIT :limit FOR UPDATE SKIP LOCKED
    """,
)
NUMBER = Query(
    "jobs.number",
    "UPDATE run_step SET number = :number WHERE run = :run AND node = :node AND number IS NULL",
)
UNSEEN_OUTPUT = Query(
    "jobs.unseen_output",
    "SELECT node, first FROM run_output WHERE run = :run AND number IS NULL ORDER BY node, first LIMIT :limit",
)
NUMBER_OUTPUT = Query(
    "jobs.number_output",
    "UPDATE run_output SET number = :number WHERE run = :run AND node = :node AND first = :first",
)
HAS_UNSEEN = Query(
    "jobs.has_unseen",
    """
    SELECT 1 WHERE EXISTS (SELECT 1 FROM run_step WHERE run = :run AND number IS NULL)
        OR EXISTS (SELECT 1 FROM run_output WHERE run = :run AND number IS NULL)
    """,
)
COUNT_OPEN = Query("jobs.count_open", "SELECT count(*) FROM run WHERE ended_at IS NULL")
STEPS_AFTER = Query(
    "jobs.steps_after",
    """
    SELECT node, batch, state, number, ordered_at, began_at, ended_at, report, message, result FROM run_step
    WHERE run = :run AND number > :number ORDER BY number LIMIT :limit
    """,
)
STEPS = Query(
    "jobs.steps",
    """
    SELECT node, batch, state, number, ordered_at, began_at, ended_at, report, message, result FROM run_step
    WHERE run = :run AND node > :after_node ORDER BY node LIMIT :limit
    """,
)
ADD_OUTPUT = Query(
    "jobs.add_output",
    """
    INSERT INTO run_output (run, node, first, lines, size, at)
    SELECT :run, :node, CAST(:first AS BIGINT), :lines, CAST(:size AS BIGINT), CAST(:now AS BIGINT)
    WHERE EXISTS (SELECT 1 FROM run_step WHERE run = :run AND node = :node AND state IN ('ordered', 'began'))
        AND (SELECT COALESCE(sum(size), 0) FROM run_output WHERE run = :run AND node = :node) < :most
    ON CONFLICT (run, node, first) DO NOTHING RETURNING run
    """,
)
OUTPUT_AFTER = Query(
    "jobs.output_after",
    """
    SELECT node, first, number, lines FROM run_output WHERE run = :run AND number > :number
    ORDER BY number LIMIT :limit
    """,
)
OLD = Query(
    "jobs.old",
    "SELECT id FROM run WHERE ended_at IS NOT NULL AND ended_at < :before_at ORDER BY ended_at, id LIMIT :limit",
)
DELETE_OUTPUT = Query("jobs.delete_output", "DELETE FROM run_output WHERE run = :run")
DELETE_STEPS = Query("jobs.delete_steps", "DELETE FROM run_step WHERE run = :run")
DELETE = Query("jobs.delete", "DELETE FROM run WHERE id = :run")
DELETE_NODE_OUTPUT = Query("jobs.delete_node_output", "DELETE FROM run_output WHERE node = :node")
DELETE_NODE = Query("jobs.delete_node", "DELETE FROM run_step WHERE node = :node")
