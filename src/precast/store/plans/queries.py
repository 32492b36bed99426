"""The statements of plan runs."""

from precast.store.engine.query import Query

ADD_RUN = Query(
    "plans.add_run",
    """
    INSERT INTO plan_run (job, plan, digest, document) VALUES (:job, :plan, :digest, :document)
    ON CONFLICT (job) DO UPDATE SET plan = excluded.plan, digest = excluded.digest, document = excluded.document
    """,
)
FIND_RUN = Query("plans.find_run", "SELECT job, plan, digest, document FROM plan_run WHERE job = :job")
FIND_NAME = Query("plans.find_name", "SELECT plan, digest FROM plan_run WHERE job = :job")
ADD_PROGRAM = Query(
    "plans.add_program",
    """
    INSERT INTO plan_program (job, task, digest, program, nodes) VALUES (:job, :task, :digest, :program, :nodes)
    """,
)
DELETE_PROGRAMS = Query("plans.delete_programs", "DELETE FROM plan_program WHERE job = :job")
PROGRAMS = Query(
    "plans.programs", "SELECT program, nodes FROM plan_program WHERE job = :job AND task = :task ORDER BY digest"
)
ADD_DATA = Query(
    "plans.add_data",
    """
    -- The time is that of the last use: garbage collection spares data that was named a moment ago.
    INSERT INTO plan_data (digest, body, stored_at) VALUES (:digest, :body, :now)
    ON CONFLICT (digest) DO UPDATE SET stored_at = excluded.stored_at
    """,
)
DATA = Query("plans.data", "SELECT body FROM plan_data WHERE digest = :digest")
ADD_RUN_DATA = Query(
    "plans.add_run_data",
    """
    INSERT INTO plan_run_data (job, node, data) VALUES (:job, :node, :digest)
    ON CONFLICT (job, node) DO UPDATE SET data = excluded.data
    """,
)
RUN_DATA = Query("plans.run_data", "SELECT node, data FROM plan_run_data WHERE job = :job ORDER BY node")
NOTE_SUCCESS = Query(
    "plans.note_success",
    """
    -- Nothing if the run has no data of the node.
    INSERT INTO plan_success (environment, plan, task, node, data, at)
    SELECT :environment, :plan, :title, :node, data, :now FROM plan_run_data WHERE job = :job AND node = :node
    ON CONFLICT (environment, plan, task, node) DO UPDATE SET data = excluded.data, at = excluded.at
    """,
    postgresql="""
    INSERT INTO plan_success (environment, plan, task, node, data, at)
    SELECT CAST(:environment AS TEXT), CAST(:plan AS TEXT), CAST(:title AS TEXT), CAST(:node AS TEXT), data, CAST(:now AS BIGINT)
    FROM plan_run_data WHERE job = :job AND node = :node
    ON CONFLICT (environment, plan, task, node) DO UPDATE SET data = excluded.data, at = excluded.at
    """,
)
SUCCESSES = Query(
    "plans.successes",
    """
    SELECT task, node, data FROM plan_success WHERE environment = :environment AND plan = :plan ORDER BY task, node
    """,
)
APPROVE = Query(
    "plans.approve",
    """
    INSERT INTO plan_approval (job, task, by, at) VALUES (:job, :task, :person, :now)
    ON CONFLICT (job, task) DO NOTHING RETURNING task
    """,
)
APPROVALS = Query("plans.approvals", "SELECT task, by, at FROM plan_approval WHERE job = :job ORDER BY task")
WITHDRAW = Query("plans.withdraw", "DELETE FROM plan_approval WHERE job = :job AND task = :task")
DELETE_RUN = Query("plans.delete_run", "DELETE FROM plan_run WHERE job = :job")
DELETE_RUN_DATA = Query("plans.delete_run_data", "DELETE FROM plan_run_data WHERE job = :job")
DELETE_APPROVALS = Query("plans.delete_approvals", "DELETE FROM plan_approval WHERE job = :job")
DELETE_NODE = Query("plans.delete_node", "DELETE FROM plan_success WHERE node = :node")
DELETE_DATA = Query(
    "plans.delete_data",
    """
    -- Data that no run and no success names any more.
    DELETE FROM plan_data WHERE digest IN (
        SELECT digest FROM plan_data WHERE stored_at < :before_at
            AND NOT EXISTS (SELECT 1 FROM plan_run_data WHERE plan_run_data.data = plan_data.digest)
            AND NOT EXISTS (SELECT 1 FROM plan_success WHERE plan_success.data = plan_data.digest)
        LIMIT :limit
    ) RETURNING digest
    """,
)
