"""The SQL of runs. Only `runs` uses it.

A run is driven by one server at a time, which proves itself by owner and fence; everything it writes begins with that. What a node
says changes only that node's step, under no lock of the run. Where the driver looks for such changes it passes over rows that
somebody is writing: their writer wakes it once they are stored.
"""

from precast.store.engine.query import Query

MAKE = Query(
    "runs.make",
    """
    INSERT INTO run (id, kind, body, made_by, made_at, state, nodes, allowed, changes, fence, lease_until)
    VALUES (:run, :kind, :body, :actor, :now, 'going', :count, :allowed, 0, 0, 0)
    """,
)
MAKE_STEP = Query(
    "runs.make_step",
    """
    INSERT INTO run_step (run, node, place, batch, state, ended_at, message)
    VALUES (:run, :node, :place, :batch, :state, :ended_at, :message)
    """,
)
SHOW = Query(
    "runs.show",
    """
    SELECT id, kind, body, made_by, made_at, state, stopped_by, ended_at, nodes, changes FROM run WHERE id = :run
    """,
)
LIST = Query(
    "runs.list",
    """
    -- The newest first, from below an id on.
    SELECT id, kind, body, made_by, made_at, state, stopped_by, ended_at, nodes, changes FROM run
    WHERE id < :before ORDER BY id DESC LIMIT :limit
    """,
)
CLAIM = Query(
    "runs.claim",
    """
    -- Runs that nobody drives, or whose driver is gone.
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
HOLD = Query(
    "runs.hold",
    """
    -- The run, ours until the commit and for another lease; no row if it is somebody else's by now.
    UPDATE run SET lease_until = :until
    WHERE id = :run AND owner = :owner AND fence = :fence AND ended_at IS NULL
    RETURNING id, kind, body, made_by, made_at, state, stopped_by, ended_at, nodes, changes
    """,
)
LET_GO = Query("runs.let_go", "UPDATE run SET owner = NULL WHERE owner = :owner AND ended_at IS NULL")
ASK_TO_STOP = Query(
    "runs.ask_to_stop",
    """
    UPDATE run SET state = 'stopping', stopped_by = :actor WHERE id = :run AND state IN ('going', 'halting') RETURNING id
    """,
)
SET_STATE = Query(
    "runs.set_state",
    "UPDATE run SET state = :state, changes = :last, ended_at = :ended_at WHERE id = :run",
)
COUNTS = Query("runs.counts", "SELECT state, count(*) FROM run_step WHERE run = :run GROUP BY state")
RUNNING = Query(
    "runs.running",
    """
    -- The first batch in which somebody is at it, and how many are.
    SELECT min(batch), count(*) FROM run_step WHERE run = :run AND state IN ('ordered', 'began')
    """,
)
WAITING = Query(
    "runs.waiting",
    "SELECT node, batch FROM run_step WHERE run = :run AND state = 'waiting' ORDER BY place LIMIT :limit",
)
ORDER = Query(
    "runs.order",
    """
    UPDATE run_step SET state = 'ordered', ordered_at = :now, due_at = :due_at, number = NULL
    WHERE run = :run AND node = :node AND state = 'waiting'
    """,
)
LEAVE_OUT = Query(
    "runs.leave_out",
    """
    -- One that was not ordered, and will not be.
    UPDATE run_step SET state = :state, message = :message, ended_at = :now, number = NULL
    WHERE run = :run AND node = :node AND state = 'waiting'
    """,
)
LEAVE_OUT_ALL = Query(
    "runs.leave_out_all",
    """
    UPDATE run_step SET state = :state, message = :message, ended_at = :now, number = NULL
    WHERE run = :run AND state = 'waiting'
    """,
)
EXPIRE = Query(
    "runs.expire",
    """
    -- Those who were waited for long enough.
    UPDATE run_step SET ended_at = :now, due_at = NULL, number = NULL, state = 'silent',
        message = CASE state WHEN 'ordered' THEN :never_began ELSE :never_ended END
    WHERE run = :run AND node IN (
        SELECT node FROM run_step WHERE run = :run AND due_at <= :now AND state IN ('ordered', 'began')
        ORDER BY node LIMIT :limit
    )
    RETURNING node
    """,
    postgresql="""
    UPDATE run_step SET ended_at = :now, due_at = NULL, number = NULL, state = 'silent',
        message = CASE state WHEN 'ordered' THEN :never_began ELSE :never_ended END
    WHERE run = :run AND node IN (
        SELECT node FROM run_step WHERE run = :run AND due_at <= :now AND state IN ('ordered', 'began')
        ORDER BY node LIMIT :limit FOR UPDATE SKIP LOCKED
    )
    RETURNING node
    """,
)
BEGIN = Query(
    "runs.begin",
    """
    -- A node has begun; from now on it may take as long as the run allows.
    UPDATE run_step SET state = 'began', began_at = :now, report = :report, number = NULL,
        due_at = :now + (SELECT allowed FROM run WHERE run.id = run_step.run)
    WHERE run = :run AND node = :node AND state = 'ordered' RETURNING run
    """,
)
END = Query(
    "runs.end",
    """
    UPDATE run_step SET state = :state, ended_at = :now, due_at = NULL, number = NULL,
        report = COALESCE(:report, report), message = :message, result = :result
    WHERE run = :run AND node = :node AND state IN ('ordered', 'began') RETURNING run
    """,
)
ADD_LATE = Query(
    "runs.add_late",
    """
    -- What comes after it was given up is kept, and changes nothing of how the step ended.
    UPDATE run_step SET report = COALESCE(:report, report), message = :message, result = :result, number = NULL
    WHERE run = :run AND node = :node AND state = 'silent' AND result IS NULL RETURNING run
    """,
)
UNSEEN = Query(
    "runs.unseen",
    "SELECT node FROM run_step WHERE run = :run AND number IS NULL ORDER BY node LIMIT :limit",
    postgresql="""
    SELECT node FROM run_step WHERE run = :run AND number IS NULL ORDER BY node LIMIT :limit FOR UPDATE SKIP LOCKED
    """,
)
NUMBER = Query(
    "runs.number",
    "UPDATE run_step SET number = :number WHERE run = :run AND node = :node AND number IS NULL",
)
UNSEEN_OUTPUT = Query(
    "runs.unseen_output",
    "SELECT node, first FROM run_output WHERE run = :run AND number IS NULL ORDER BY node, first LIMIT :limit",
)
NUMBER_OUTPUT = Query(
    "runs.number_output",
    "UPDATE run_output SET number = :number WHERE run = :run AND node = :node AND first = :first",
)
HAS_UNSEEN = Query(
    "runs.has_unseen",
    """
    SELECT 1 WHERE EXISTS (SELECT 1 FROM run_step WHERE run = :run AND number IS NULL)
        OR EXISTS (SELECT 1 FROM run_output WHERE run = :run AND number IS NULL)
    """,
)
COUNT_OPEN = Query("runs.count_open", "SELECT count(*) FROM run WHERE ended_at IS NULL")
STEPS_AFTER = Query(
    "runs.steps_after",
    """
    SELECT node, batch, state, number, ordered_at, began_at, ended_at, report, message, result FROM run_step
    WHERE run = :run AND number > :number ORDER BY number LIMIT :limit
    """,
)
STEPS = Query(
    "runs.steps",
    """
    SELECT node, batch, state, number, ordered_at, began_at, ended_at, report, message, result FROM run_step
    WHERE run = :run AND node > :after_node ORDER BY node LIMIT :limit
    """,
)
ADD_OUTPUT = Query(
    "runs.add_output",
    """
    INSERT INTO run_output (run, node, first, lines, size, at)
    SELECT :run, :node, CAST(:first AS BIGINT), :lines, CAST(:size AS BIGINT), CAST(:now AS BIGINT)
    WHERE EXISTS (SELECT 1 FROM run_step WHERE run = :run AND node = :node AND state IN ('ordered', 'began'))
        AND (SELECT COALESCE(sum(size), 0) FROM run_output WHERE run = :run AND node = :node) < :most
    ON CONFLICT (run, node, first) DO NOTHING RETURNING run
    """,
)
OUTPUT_AFTER = Query(
    "runs.output_after",
    """
    SELECT node, first, number, lines FROM run_output WHERE run = :run AND number > :number
    ORDER BY number LIMIT :limit
    """,
)
OLD = Query(
    "runs.old",
    "SELECT id FROM run WHERE ended_at IS NOT NULL AND ended_at < :before_at ORDER BY ended_at, id LIMIT :limit",
)
FORGET_OUTPUT = Query("runs.forget_output", "DELETE FROM run_output WHERE run = :run")
FORGET_STEPS = Query("runs.forget_steps", "DELETE FROM run_step WHERE run = :run")
FORGET = Query("runs.forget", "DELETE FROM run WHERE id = :run")
FORGET_NODE_OUTPUT = Query("runs.forget_node_output", "DELETE FROM run_output WHERE node = :node")
FORGET_NODE = Query("runs.forget_node", "DELETE FROM run_step WHERE node = :node")
