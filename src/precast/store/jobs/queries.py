"""The SQL of jobs. Only this folder uses it.

One server at a time drives a job and proves that by owner and fence; each of its transactions checks them first. The answer of a node
changes only that node's attempt, without a lock on the job. When the driver looks for such changes it skips rows that are being written:
their writer wakes the driver after its commit.
"""

from precast.store.engine.query import Query, batch, insert

# An attempt as the input of a statement; what names it, and begins the rows that are returned.
_COLUMNS = "job word, task number, node word, n number"
_KEY = ("job", "task", "node", "n")
_RETURNED = "attempt.job, attempt.task, attempt.node, attempt.n"
_OF_INPUT = (
    "attempt.job = input.job AND attempt.task = input.task AND attempt.node = input.node AND attempt.n = input.n"
)

# Jobs. One that has to be looked at now has the time 0 to wake up, not the present time: a clock that is ahead would delay it.

MAKE = Query(
    "jobs.make",
    """
    INSERT INTO job (id, kind, body, environment, action, work, made_by, made_at, state, nodes, round, changes, fence, wake_at)
    VALUES (:job, :kind, :body, :environment, :action, :work, :actor, :now, 'going', :count, 1, 0, 0, 0)
    """,
)
SHOW = Query(
    "jobs.show",
    """
    SELECT id, kind, body, environment, action, made_by, made_at, state, stopped_by, ended_at, nodes, round, changes
    FROM job WHERE id = :job
    """,
)
LIST = Query(
    "jobs.list",
    """
    -- The newest first, below an id.
    SELECT id, kind, body, environment, action, made_by, made_at, state, stopped_by, ended_at, nodes, round, changes
    FROM job WHERE id < :before ORDER BY id DESC LIMIT :limit
    """,
)
LIST_WITHIN = Query(
    "jobs.list_within",
    """
    -- The newest first, below an id, of some environments.
    SELECT id, kind, body, environment, action, made_by, made_at, state, stopped_by, ended_at, nodes, round, changes
    FROM job WHERE environment IN (SELECT value FROM json_each(:names)) AND id < :before ORDER BY id DESC LIMIT :limit
    """,
    postgresql="""
    SELECT id, kind, body, environment, action, made_by, made_at, state, stopped_by, ended_at, nodes, round, changes
    FROM job WHERE environment = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:names AS JSONB)))) AND id < :before
    ORDER BY id DESC LIMIT :limit
    """,
)
LIST_OF_KIND = Query(
    "jobs.list_of_kind",
    """
    -- The newest first, below an id, of some environments; of all if none is named.
    SELECT id, kind, body, environment, action, made_by, made_at, state, stopped_by, ended_at, nodes, round, changes
    FROM job WHERE kind = :kind AND id < :before
        AND (:is_all = 1 OR environment IN (SELECT value FROM json_each(:names))) ORDER BY id DESC LIMIT :limit
    """,
    postgresql="""
    SELECT id, kind, body, environment, action, made_by, made_at, state, stopped_by, ended_at, nodes, round, changes
    FROM job WHERE kind = :kind AND id < :before
        AND (:is_all = 1 OR environment = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:names AS JSONB)))))
    ORDER BY id DESC LIMIT :limit
    """,
)
LIST_OF_ACTION = Query(
    "jobs.list_of_action",
    """
    SELECT id, kind, body, environment, action, made_by, made_at, state, stopped_by, ended_at, nodes, round, changes
    FROM job WHERE action = :action ORDER BY id DESC LIMIT :limit
    """,
)
OPEN_OF_ACTION = Query(
    "jobs.open_of_action",
    """
    SELECT id, kind, body, environment, action, made_by, made_at, state, stopped_by, ended_at, nodes, round, changes
    FROM job WHERE action = :action AND ended_at IS NULL ORDER BY id DESC
    """,
)
OF_WORK = Query("jobs.of_work", "SELECT id FROM job WHERE work = :work ORDER BY id DESC LIMIT :limit")
COUNT_OPEN = Query("jobs.count_open", "SELECT count(*) FROM job WHERE ended_at IS NULL")
OWN = Query(
    "jobs.own",
    """
    -- Jobs that no server drives and whose time has come.
    UPDATE job SET owner = :owner, fence = fence + 1 WHERE id IN (
        SELECT id FROM job WHERE ended_at IS NULL AND owner IS NULL AND wake_at <= :now ORDER BY wake_at LIMIT :limit
    )
    RETURNING id, fence
    """,
    postgresql="""
    UPDATE job SET owner = :owner, fence = fence + 1 WHERE id IN (
        SELECT id FROM job WHERE ended_at IS NULL AND owner IS NULL AND wake_at <= :now ORDER BY wake_at LIMIT :limit
        FOR UPDATE SKIP LOCKED
    )
    RETURNING id, fence
    """,
)
OWNED = Query("jobs.owned", "SELECT id, fence FROM job WHERE owner = :owner AND ended_at IS NULL")
OWNERS = Query("jobs.owners", "SELECT DISTINCT owner FROM job WHERE ended_at IS NULL AND owner IS NOT NULL")
RELEASE_ALL = Query(
    "jobs.release_all",
    "UPDATE job SET owner = NULL, wake_at = 0 WHERE owner = :owner AND ended_at IS NULL",
)
NEXT_WAKE = Query("jobs.next_wake", "SELECT min(wake_at) FROM job WHERE ended_at IS NULL AND owner IS NULL")
LOCK = Query(
    "jobs.lock",
    """
    SELECT id, kind, body, environment, action, made_by, made_at, state, stopped_by, ended_at, nodes, round, changes
    FROM job WHERE id = :job AND owner = :owner AND fence = :fence AND ended_at IS NULL
    """,
    postgresql="""
    -- Locks the job until the commit; no row if another server drives it by now.
    SELECT id, kind, body, environment, action, made_by, made_at, state, stopped_by, ended_at, nodes, round, changes
    FROM job WHERE id = :job AND owner = :owner AND fence = :fence AND ended_at IS NULL FOR UPDATE
    """,
)
REST = Query(
    "jobs.rest",
    "UPDATE job SET owner = NULL, wake_at = :wake_at WHERE id = :job AND owner = :owner AND fence = :fence",
)
WAKE = Query(
    "jobs.wake",
    "UPDATE job SET wake_at = 0 WHERE id = :job AND owner IS NULL AND ended_at IS NULL AND wake_at > 0 RETURNING id",
)
ASK_TO_END = Query(
    "jobs.ask_to_end",
    """
    UPDATE job SET state = :state, stopped_by = :actor, wake_at = CASE WHEN owner IS NULL THEN 0 ELSE wake_at END
    WHERE id = :job AND (state IN ('going', 'halting') OR state = 'stopping' AND :state = 'aborting') RETURNING id
    """,
)
REOPEN = Query(
    "jobs.reopen",
    """
    UPDATE job SET state = 'going', stopped_by = NULL, ended_at = NULL, round = round + 1, body = :body, owner = NULL,
        wake_at = 0
    WHERE id = :job AND ended_at IS NOT NULL AND round = :round RETURNING id
    """,
)
SET_STATE = Query(
    "jobs.set_state",
    "UPDATE job SET state = :state, changes = :last, ended_at = :ended_at WHERE id = :job",
)
OLD = Query(
    "jobs.old",
    "SELECT id FROM job WHERE ended_at IS NOT NULL AND ended_at < :before_at ORDER BY ended_at, id LIMIT :limit",
    postgresql="""
    -- Locks the jobs until the commit: one that is resumed meanwhile is not deleted.
    SELECT id FROM job WHERE ended_at IS NOT NULL AND ended_at < :before_at ORDER BY ended_at, id LIMIT :limit
    FOR UPDATE SKIP LOCKED
    """,
)
DELETE_OUTPUT = Query("jobs.delete_output", "DELETE FROM job_output WHERE job = :job")
DELETE_ATTEMPTS = Query("jobs.delete_attempts", "DELETE FROM attempt WHERE job = :job")
DELETE = Query("jobs.delete", "DELETE FROM job WHERE id = :job")

# Attempts

ADD_ATTEMPT = Query(
    "jobs.add_attempt",
    """
    INSERT INTO attempt
        (job, task, node, n, is_newest, place, batch, state, reason, number, queued_at, due_at, until_at, allowed, tries, ended_at,
        message, seal)
    VALUES (:job, :task, :node, :n, 1, :place, :batch, :state, :reason, :change, :now, :due_at, :due_at, :allowed, 0, :ended_at,
        :message, :seal)
    """,
)
MAKE_OLD = Query(
    "jobs.make_old",
    "UPDATE attempt SET is_newest = 0 WHERE job = :job AND task = :task AND node = :node AND n < :n AND is_newest = 1",
)
COUNTS = Query(
    "jobs.counts",
    """
    SELECT state, coalesce(reason, ''), count(*) FROM attempt WHERE job = :job AND is_newest = 1
    GROUP BY state, coalesce(reason, '')
    """,
)
COUNTS_BY_TASK = Query(
    "jobs.counts_by_task",
    """
    -- A success that was reported after the deadline is one for the rounds that follow.
    SELECT task, CASE WHEN late = 'COMPLETED' AND n < :round THEN 'COMPLETED' ELSE state END, reason, phase,
        CASE WHEN ordered_at IS NULL THEN 0 ELSE 1 END, count(*)
    FROM attempt WHERE job = :job AND is_newest = 1
    GROUP BY 1, 2, 3, 4, 5
    """,
)
FAILURES = Query(
    "jobs.failures",
    """
    -- The newest attempts that have failed, but for those that succeeded later and were counted by a further round.
    SELECT task, node, n, batch, state, reason, number, queued_at, ordered_at, claimed_at, picked_at, ended_at, late,
        report, message, result, tries, phase
    FROM attempt WHERE job = :job AND is_newest = 1 AND state IN ('FAILED', 'EXPIRED')
        AND (n = :round OR late IS NULL OR late <> 'COMPLETED')
    ORDER BY ended_at, node, task LIMIT :limit
    """,
)
SKIPPED_BY_MESSAGE = Query(
    "jobs.skipped_by_message",
    """
    SELECT message, count(*) FROM attempt
    WHERE job = :job AND is_newest = 1 AND state = 'SKIPPED' AND reason = :reason GROUP BY message
    """,
)
DURATIONS = Query(
    "jobs.durations",
    """
    SELECT picked_at, ended_at FROM attempt
    WHERE job = :job AND state = 'COMPLETED' AND picked_at IS NOT NULL ORDER BY task, node, n LIMIT :limit
    """,
)
STEP = Query(
    "jobs.step",
    """
    SELECT task, node, n, batch, state, reason, number, queued_at, ordered_at, claimed_at, picked_at, ended_at, late,
        report, message, result, tries, phase
    FROM attempt WHERE job = :job AND task = :task AND node = :node AND is_newest = 1
    """,
)
STATES = Query(
    "jobs.states",
    """
    -- The steps of a job, as a server needs them that takes it over.
    SELECT task, node, n, place, batch, state, reason, ordered_at, claim, tries, late, message, futures
    FROM attempt WHERE job = :job AND is_newest = 1 ORDER BY task, place
    """,
)
STEPS = Query(
    "jobs.steps",
    """
    -- By node and task, after a step.
    SELECT task, node, n, batch, state, reason, number, queued_at, ordered_at, claimed_at, picked_at, ended_at, late,
        report, message, result, tries, phase
    FROM attempt WHERE job = :job AND is_newest = 1 AND (node > :after_node OR node = :after_node AND task > :after_task)
    ORDER BY node, task LIMIT :limit
    """,
)
STEPS_AFTER = Query(
    "jobs.steps_after",
    """
    SELECT task, node, n, batch, state, reason, number, queued_at, ordered_at, claimed_at, picked_at, ended_at, late,
        report, message, result, tries, phase FROM attempt WHERE job = :job AND number > :number ORDER BY number LIMIT :limit
    """,
)
GIVE_TURN = batch(
    "jobs.give_turn",
    _COLUMNS + ", now number, due_at number",
    """
    UPDATE attempt SET ordered_at = input.now, due_at = input.due_at, number = NULL FROM input
    WHERE attempt.job = input.job AND attempt.task = input.task AND attempt.node = input.node AND attempt.n = input.n
        AND state = 'QUEUED' AND ordered_at IS NULL
    RETURNING attempt.job, attempt.task, attempt.node, attempt.n, claim, instance, seal
    """,
    key=_KEY,
)
TAKE_TURN_BACK = Query(
    "jobs.take_turn_back",
    """
    UPDATE attempt SET ordered_at = NULL, due_at = until_at, number = NULL
    WHERE job = :job AND task = :task AND node = :node AND n = :n AND state = 'QUEUED' AND ordered_at IS NOT NULL RETURNING node
    """,
)
WAIT_FOR_LOCK = Query(
    "jobs.wait_for_lock",
    """
    UPDATE attempt SET due_at = until_at
    WHERE job = :job AND task = :task AND node = :node AND n = :n AND state = 'QUEUED' AND ordered_at IS NOT NULL
    """,
)
LOOK_AGAIN = Query(
    "jobs.look_again",
    """
    -- A node that is away: it is waited for until a time, and has been looked for once more.
    UPDATE attempt SET tries = tries + 1, looked_at = :now,
        due_at = CASE WHEN CAST(:away AS BIGINT) > 0 AND (until_at IS NULL OR queued_at + CAST(:away AS BIGINT) < until_at)
            THEN queued_at + CAST(:away AS BIGINT) ELSE until_at END
    WHERE job = :job AND task = :task AND node = :node AND n = :n AND state = 'QUEUED' AND ordered_at IS NULL
        AND (looked_at IS NULL OR looked_at <= :looked_before)
    RETURNING tries
    """,
)
UNCLAIMED = Query(
    "jobs.unclaimed",
    """
    SELECT task, node, n FROM attempt WHERE job = :job AND is_newest = 1 AND state = 'QUEUED' AND ordered_at IS NOT NULL
    ORDER BY node, task
    """,
)
PICKED = Query(
    "jobs.picked",
    "SELECT task, node, n FROM attempt WHERE job = :job AND is_newest = 1 AND state = 'PICKED_UP' ORDER BY node",
)
FIND = batch(
    "jobs.find_attempt",
    _COLUMNS,
    """
    SELECT attempt.job, attempt.task, attempt.node, attempt.n, state, reason, ordered_at, due_at, claim, instance
    FROM input CROSS JOIN attempt
    WHERE attempt.job = input.job AND attempt.task = input.task AND attempt.node = input.node AND attempt.n = input.n
    """,
    lock="FOR UPDATE OF attempt",
    key=_KEY,
)
NOTE_CLAIM = batch(
    "jobs.note_claim",
    _COLUMNS + ", now number, claim number, instance text",
    """
    UPDATE attempt SET claimed_at = input.now, claim = input.claim, instance = input.instance FROM input
    WHERE attempt.job = input.job AND attempt.task = input.task AND attempt.node = input.node AND attempt.n = input.n
        AND state IN ('QUEUED', 'PICKED_UP')
    """,
    key=_KEY,
)
PICK_UP = batch(
    "jobs.pick_up",
    _COLUMNS + ", now number",
    """
    UPDATE attempt SET state = 'PICKED_UP', picked_at = input.now, due_at = input.now + allowed, number = NULL FROM input
    WHERE attempt.job = input.job AND attempt.task = input.task AND attempt.node = input.node AND attempt.n = input.n
        AND state = 'QUEUED'
    RETURNING attempt.job, attempt.task, attempt.node, attempt.n
    """,
    key=_KEY,
)
NEXT_CLAIM = batch(
    "jobs.next_claim",
    "node word, now number",
    """
    -- The attempts on a node that have their turn and wait for the node's lock.
    SELECT attempt.node, ordered_at, job, task, n, claim, instance FROM input CROSS JOIN attempt
    WHERE attempt.node = input.node AND state = 'QUEUED' AND ordered_at IS NOT NULL AND claim IS NOT NULL
        AND (due_at IS NULL OR due_at > input.now)
    """,
    key=("node",),
)
NOTE_PHASE = batch(
    "jobs.note_phase",
    _COLUMNS + ", phase text, message text",
    """
    UPDATE attempt SET phase = input.phase, message = COALESCE(input.message, attempt.message), number = NULL FROM input
    WHERE attempt.job = input.job AND attempt.task = input.task AND attempt.node = input.node AND attempt.n = input.n
        AND attempt.state = 'PICKED_UP'
    RETURNING attempt.job, attempt.task, attempt.node, attempt.n
    """,
    key=_KEY,
)
PARK = batch(
    "jobs.park",
    _COLUMNS,
    """
    UPDATE attempt SET futures = 2, number = NULL FROM input
    WHERE attempt.job = input.job AND attempt.task = input.task AND attempt.node = input.node AND attempt.n = input.n
        AND attempt.state = 'PICKED_UP' AND attempt.futures = 1
    RETURNING attempt.job, attempt.task, attempt.node, attempt.n
    """,
    key=_KEY,
)
NOTE_REPORT = Query(
    "jobs.note_report",
    """
    UPDATE attempt SET report = :report, number = NULL
    WHERE job = :job AND task = :task AND node = :node AND n = :n AND state = 'PICKED_UP' AND report IS NULL RETURNING job
    """,
)
END = batch(
    "jobs.end",
    _COLUMNS + ", before text, now number, state text, reason text, report text, message text, result text",
    """
    UPDATE attempt SET state = input.state, reason = input.reason, ended_at = input.now, due_at = NULL, number = NULL,
        report = COALESCE(input.report, attempt.report), message = input.message, result = input.result FROM input
    WHERE attempt.job = input.job AND attempt.task = input.task AND attempt.node = input.node AND attempt.n = input.n
        AND attempt.state = input.before
    RETURNING attempt.job, attempt.task, attempt.node, attempt.n, attempt.futures
    """,
    key=_KEY,
)
ADD_LATE = Query(
    "jobs.add_late",
    """
    -- A result after the deadline is stored, but does not change the state of the attempt.
    UPDATE attempt SET late = :late, report = COALESCE(:report, report), message = :message, result = :result, number = NULL
    WHERE job = :job AND task = :task AND node = :node AND n = :n AND state = 'FAILED' AND reason = 'lost' AND late IS NULL
    RETURNING job
    """,
)
END_QUEUED = Query(
    "jobs.end_queued",
    """
    -- Ends all attempts of a job that no node has picked up. Returns the claims that wait for an answer.
    UPDATE attempt SET state = :state, reason = :reason, message = :message, ended_at = :now, due_at = NULL, number = NULL
    WHERE job = :job AND state = 'QUEUED' RETURNING task, node, n, claim, instance, futures
    """,
)
END_QUEUED_BUT = Query(
    "jobs.end_queued_but",
    """
    -- Ends all attempts of a job that no node has picked up, but those of some tasks.
    UPDATE attempt SET state = :state, reason = :reason, message = :message, ended_at = :now, due_at = NULL, number = NULL
    WHERE job = :job AND state = 'QUEUED' AND task NOT IN (SELECT value FROM json_each(:tasks))
    RETURNING task, node, n, claim, instance, futures
    """,
    postgresql="""
    UPDATE attempt SET state = :state, reason = :reason, message = :message, ended_at = :now, due_at = NULL, number = NULL
    WHERE job = :job AND state = 'QUEUED' AND NOT task = ANY (ARRAY(
        SELECT CAST(value AS BIGINT) FROM jsonb_array_elements_text(CAST(:tasks AS JSONB)) AS value
    ))
    RETURNING task, node, n, claim, instance, futures
    """,
)
RESULTS = Query(
    "jobs.results",
    """
    -- What the nodes have returned for a task, by its newest attempts that succeeded.
    SELECT node, result FROM attempt WHERE job = :job AND task = :task AND is_newest = 1 AND state = 'COMPLETED' ORDER BY node
    """,
)
RESULTS_OF_NODES = Query(
    "jobs.results_of_nodes",
    """
    SELECT node, result FROM attempt WHERE job = :job AND task = :task AND node IN (SELECT value FROM json_each(:nodes))
        AND is_newest = 1 AND state = 'COMPLETED'
    """,
    postgresql="""
    SELECT node, result FROM attempt
    WHERE job = :job AND task = :task AND node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
        AND is_newest = 1 AND state = 'COMPLETED'
    """,
)
COUNT_LATE = Query(
    "jobs.count_late",
    """
    -- Counts a change of a job that has ended, which no driver numbers any more. Locks the job, so that it does not end meanwhile.
    UPDATE job SET changes = changes + CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END WHERE id = :job RETURNING changes, ended_at
    """,
)
HURRY = Query(
    "jobs.hurry",
    """
    -- Shortens the wait for attempts that are told to end.
    UPDATE attempt SET due_at = :due_at WHERE job = :job AND state = 'PICKED_UP' AND due_at > :due_at
    """,
)
EXPIRE = Query(
    "jobs.expire",
    """
    -- Waits that are over, of those that began after a time.
    UPDATE attempt SET ended_at = :now, due_at = NULL, number = NULL,
        reason = CASE WHEN state = 'PICKED_UP' THEN 'lost' END,
        message = CASE WHEN state = 'PICKED_UP' THEN 'it did not report in time how it ended'
            WHEN ordered_at IS NOT NULL THEN 'it did not begin in time' ELSE 'it was away until the end of the wait' END,
        state = CASE WHEN state = 'PICKED_UP' THEN 'FAILED' ELSE 'EXPIRED' END
    WHERE job = :job AND due_at <= :now AND state IN ('QUEUED', 'PICKED_UP') AND coalesce(picked_at, ordered_at, queued_at) >= :since
    RETURNING task, node, n, claim, instance, reason, futures
    """,
    postgresql="""
    UPDATE attempt SET ended_at = :now, due_at = NULL, number = NULL,
        reason = CASE WHEN state = 'PICKED_UP' THEN 'lost' END,
        message = CASE WHEN state = 'PICKED_UP' THEN 'it did not report in time how it ended'
            WHEN ordered_at IS NOT NULL THEN 'it did not begin in time' ELSE 'it was away until the end of the wait' END,
        state = CASE WHEN state = 'PICKED_UP' THEN 'FAILED' ELSE 'EXPIRED' END
    WHERE (job, task, node, n) IN (
        SELECT job, task, node, n FROM attempt
        WHERE job = :job AND due_at <= :now AND state IN ('QUEUED', 'PICKED_UP')
            AND coalesce(picked_at, ordered_at, queued_at) >= :since
        ORDER BY node LIMIT 10000 FOR UPDATE SKIP LOCKED
    )
    RETURNING task, node, n, claim, instance, reason, futures
    """,
)
NEXT_DUE = Query("jobs.next_due", "SELECT min(due_at) FROM attempt WHERE job = :job AND due_at IS NOT NULL")
UNSEEN = Query(
    "jobs.unseen",
    """
    SELECT task, node, n, place, batch, state, reason, ordered_at, claim, tries, late, message, futures, is_newest
    FROM attempt WHERE job = :job AND number IS NULL ORDER BY node, task, n LIMIT :limit
    """,
    postgresql="""
    SELECT task, node, n, place, batch, state, reason, ordered_at, claim, tries, late, message, futures, is_newest
    FROM attempt WHERE job = :job AND number IS NULL ORDER BY node, task, n LIMIT :limit
    FOR UPDATE SKIP LOCKED
    """,
)
NUMBER = batch(
    "jobs.number",
    "job word, task number, node word, n number, change number",
    """
    UPDATE attempt SET number = input.change FROM input
    WHERE attempt.job = input.job AND attempt.task = input.task AND attempt.node = input.node AND attempt.n = input.n
        AND attempt.number IS NULL
    """,
)
BEGUN_OF_NODE = Query(
    "jobs.begun_of_node",
    """
    SELECT DISTINCT job FROM attempt
    WHERE node = :node AND state IN ('QUEUED', 'PICKED_UP') AND (state = 'PICKED_UP' OR ordered_at IS NOT NULL)
    """,
)
OPEN_OF_NODES = Query(
    "jobs.open_of_nodes",
    """
    -- The jobs that wait for nodes which have just connected.
    SELECT DISTINCT job FROM attempt WHERE node IN (SELECT value FROM json_each(:nodes)) AND state = 'QUEUED'
    """,
    postgresql="""
    SELECT DISTINCT job FROM attempt
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) AND state = 'QUEUED'
    """,
)
PURGE_NODE = Query(
    "jobs.purge_node",
    """
    UPDATE attempt SET state = 'FAILED', reason = 'purged', message = 'the node was purged', ended_at = :now, due_at = NULL, number = NULL
    WHERE node = :node AND state IN ('QUEUED', 'PICKED_UP') RETURNING job
    """,
)

# Output

UNSEEN_OUTPUT = Query(
    "jobs.unseen_output",
    """
    SELECT task, node, n, first FROM job_output WHERE job = :job AND number IS NULL ORDER BY node, task, n, first LIMIT :limit
    """,
)
NUMBER_OUTPUT = Query(
    "jobs.number_output",
    """
    UPDATE job_output SET number = :change WHERE job = :job AND task = :task AND node = :node AND n = :n AND first = :first
    """,
)
HAS_UNSEEN = Query(
    "jobs.has_unseen",
    """
    SELECT 1 WHERE EXISTS (SELECT 1 FROM attempt WHERE job = :job AND number IS NULL)
        OR EXISTS (SELECT 1 FROM job_output WHERE job = :job AND number IS NULL)
    """,
)
ADD_OUTPUT = batch(
    "jobs.add_output",
    _COLUMNS + ", first number, lines bytes, size number, now number, most number",
    """
    -- Each record has the size of the output up to its end, so only the last one is read. One that is not after it is a duplicate.
    INSERT INTO job_output (job, task, node, n, first, lines, total, at)
    SELECT record.job, record.task, record.node, record.n, record.first, record.lines, record.stored + record.size, record.now
    FROM (
        SELECT input.*, COALESCE((
            SELECT output.total FROM job_output AS output
            WHERE output.job = input.job AND output.task = input.task AND output.node = input.node AND output.n = input.n
            ORDER BY output.first DESC LIMIT 1
        ), 0) AS stored
        FROM input
    ) AS record
    WHERE record.stored < record.most AND EXISTS (
        SELECT 1 FROM attempt
        WHERE attempt.job = record.job AND attempt.task = record.task AND attempt.node = record.node AND attempt.n = record.n
            AND state IN ('QUEUED', 'PICKED_UP')
    ) AND NOT EXISTS (
        SELECT 1 FROM job_output AS output
        WHERE output.job = record.job AND output.task = record.task AND output.node = record.node AND output.n = record.n
            AND output.first >= record.first
    )
    ON CONFLICT (job, task, node, n, first) DO NOTHING RETURNING job, task, node, n
    """,
    # Two records of one attempt are two statements: the second one reads the first.
    key=_KEY,
)
OUTPUT_AFTER = Query(
    "jobs.output_after",
    """
    SELECT task, node, n, first, number, lines FROM job_output WHERE job = :job AND number > :number
    ORDER BY number LIMIT :limit
    """,
)
DELETE_NODE_OUTPUT = Query("jobs.delete_node_output", "DELETE FROM job_output WHERE node = :node")
FORGET_NODE = Query(
    "jobs.forget_node",
    """
    -- What a purged node has reported.
    UPDATE attempt SET report = NULL, message = CASE WHEN reason = 'purged' THEN message END, result = NULL, seal = NULL
    WHERE node = :node
    """,
)

# Who may change a node

LOCK_NODE = insert(
    "jobs.lock_node",
    "node_lock",
    "node word, job word, task number, n number, since number",
    "ON CONFLICT (node) DO NOTHING RETURNING node",
    key=("node",),
)
HOLDER = Query("jobs.holder", "SELECT job, task, n, since FROM node_lock WHERE node = :node")
KEEP_HOLDER = Query(
    "jobs.keep_holder",
    "SELECT job, task, n FROM node_lock WHERE node = :node",
    postgresql="""
    -- Until the commit the holder cannot release the lock: its end then sees who waits.
    SELECT job, task, n FROM node_lock WHERE node = :node FOR UPDATE
    """,
)
HOLDERS = Query(
    "jobs.holders",
    "SELECT node, job, task, n, since FROM node_lock WHERE node IN (SELECT value FROM json_each(:nodes))",
    postgresql="""
    SELECT node, job, task, n, since FROM node_lock
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
END_WAITS_OF = Query("jobs.end_waits_of", "DELETE FROM attempt_wait WHERE node = :node")
UNLOCK_PURGED = Query("jobs.unlock_purged", "DELETE FROM node_lock WHERE node = :node")
UNLOCK_NODE = batch(
    "jobs.unlock_node",
    _COLUMNS,
    """
    DELETE FROM node_lock WHERE node IN (SELECT node FROM input) AND EXISTS (
        SELECT 1 FROM input
        WHERE input.node = node_lock.node AND input.job = node_lock.job AND input.task = node_lock.task AND input.n = node_lock.n
    )
    RETURNING job, task, node, n
    """,
    key=_KEY,
)

# Waits, and what must never be

ADD_WAIT = Query(
    "jobs.add_wait",
    """
    INSERT INTO attempt_wait (job, task, node, n, for_job, for_task, for_node, since)
    VALUES (:job, :task, :node, :n, :for_job, :for_task, :for_node, :now)
    ON CONFLICT (job, task, node, n, for_job, for_task, for_node) DO NOTHING
    """,
)
END_WAITS = batch(
    "jobs.end_waits",
    _COLUMNS,
    "DELETE FROM attempt_wait WHERE (job, task, node, n) IN (SELECT job, task, node, n FROM input)",
    key=_KEY,
)
WAITS = Query(
    "jobs.waits",
    """
    -- Attempts that wait for the attempt which holds their node's lock, and attempts that wait for a step.
    SELECT attempt.job, attempt.task, attempt.node, attempt.n, held.job, held.task, held.node, held.n
    FROM attempt JOIN node_lock AS held ON held.node = attempt.node
    WHERE attempt.state = 'QUEUED' AND attempt.claim IS NOT NULL AND attempt.ordered_at IS NOT NULL
    UNION ALL
    SELECT wait.job, wait.task, wait.node, wait.n, step.job, step.task, step.node, step.n
    FROM attempt_wait AS wait JOIN attempt AS step
        ON step.job = wait.for_job AND step.task = wait.for_task AND step.node = wait.for_node
    WHERE step.is_newest = 1 AND step.state IN ('QUEUED', 'PICKED_UP')
    """,
)
COUNT_LOCKS = Query("jobs.count_locks", "SELECT count(*) FROM node_lock")
COUNT_REFUSED = Query(
    "jobs.count_refused", "SELECT count(*) FROM attempt WHERE reason = 'refused' AND ended_at >= :since"
)
HAS_WAITS = Query("jobs.has_waits", "SELECT 1 WHERE EXISTS (SELECT 1 FROM attempt_wait)")
STALE_LOCKS = Query(
    "jobs.stale_locks",
    """
    SELECT held.node, held.job, held.task, held.n FROM node_lock AS held LEFT JOIN attempt
        ON attempt.job = held.job AND attempt.task = held.task AND attempt.node = held.node AND attempt.n = held.n
    WHERE attempt.state IS NULL OR attempt.state <> 'PICKED_UP' ORDER BY held.node LIMIT :limit
    """,
)
STRAYS = Query(
    "jobs.strays",
    """
    -- Open attempts that nothing would ever end: their job has ended, or they were picked up without a deadline.
    SELECT attempt.job, attempt.task, attempt.node, attempt.n, attempt.state FROM attempt JOIN job ON job.id = attempt.job
    WHERE attempt.state IN ('QUEUED', 'PICKED_UP')
        AND (job.ended_at IS NOT NULL OR attempt.state = 'PICKED_UP' AND attempt.due_at IS NULL)
    ORDER BY attempt.node LIMIT :limit
    """,
)
