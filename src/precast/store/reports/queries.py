"""The SQL of reports. Only `reports` and `views` use it.

A node can never write to the report of another node, whatever id it sends: every ON CONFLICT clause compares the node too.
"""

from precast.store.engine.query import Query, insert

COLUMNS = """
    id, node, state, mode, reason, order_id, catalog, release, environment, version, resources, changed, pending, failed,
    skipped, waiting, corrective, is_complete, is_stale, events, got, began_at, ended_at, took, received_at, heard_at, why
"""

BEGIN = Query(
    "reports.begin",
    """
    -- Keeps events that were received before the beginning; a report that has ended stays ended.
    INSERT INTO report (id, node, state, mode, reason, order_id, catalog, release, environment, version, resources, changed,
        pending, failed, skipped, waiting, corrective, is_complete, is_stale, events, got, began_at, received_at, heard_at,
        why, detail)
    VALUES (:id, :node, 'running', :mode, :reason, :order_id, :catalog, :release, :environment, :version, :resources, 0,
        0, 0, 0, 0, 0, 0, :is_stale, 0, 0, :began_at, :now, :now, '', :detail)
    ON CONFLICT (id) DO UPDATE SET mode = excluded.mode, reason = excluded.reason, order_id = excluded.order_id,
        catalog = excluded.catalog, release = excluded.release, environment = excluded.environment,
        version = excluded.version, resources = excluded.resources, is_stale = excluded.is_stale,
        began_at = excluded.began_at, heard_at = excluded.heard_at, detail = excluded.detail
    WHERE report.node = excluded.node AND report.mode = ''
    """,
)
SUPERSEDE = Query(
    "reports.supersede",
    """
    -- A node has one run at a time, so the beginning of a run ends the earlier one.
    UPDATE report SET state = 'broken-off', why = 'another run began', heard_at = :now
    WHERE node = :node AND state = 'running' AND id <> :id
    """,
)
GO_ON = Query(
    "reports.go_on",
    """
    -- Events of a run. If its beginning was lost on the node, its end repeats it.
    INSERT INTO report (id, node, state, mode, reason, order_id, catalog, release, environment, version, resources, changed,
        pending, failed, skipped, waiting, corrective, is_complete, is_stale, events, got, began_at, received_at, heard_at,
        why, detail)
    VALUES (:id, :node, 'running', '', '', '', '', 0, '', '', 0, :changed,
        :pending, :failed, :skipped, :waiting, :corrective, 0, 0, :events, :got, :now, :now, :now, '', :detail)
    ON CONFLICT (id) DO UPDATE SET changed = report.changed + excluded.changed, pending = report.pending + excluded.pending,
        failed = report.failed + excluded.failed, skipped = report.skipped + excluded.skipped,
        waiting = report.waiting + excluded.waiting, corrective = report.corrective + excluded.corrective,
        events = CASE WHEN report.events > excluded.events THEN report.events ELSE excluded.events END,
        got = report.got + excluded.got, heard_at = excluded.heard_at
    WHERE report.node = excluded.node
    """,
)


_FINISHED = """
    id text, node text, state text, mode text, reason text, order_id text, catalog text, release int, environment text,
    version text, resources int, changed int, pending int, failed int, skipped int, waiting int, corrective int,
    is_complete int, is_stale int, events int, got int, began_at int, ended_at int, took int, received_at int, heard_at int,
    why text, detail bytes
"""


def _finish(name: str, counts: str) -> Query:
    """Make the statement for the end of a run, which replaces all columns; also of a run that was marked as broken off."""
    return insert(
        name,
        "report",
        _FINISHED,
        f"""
        ON CONFLICT (id) DO UPDATE SET state = excluded.state, mode = excluded.mode, reason = excluded.reason,
            order_id = excluded.order_id, catalog = excluded.catalog, release = excluded.release,
            environment = excluded.environment, version = excluded.version, resources = excluded.resources,{counts}
            is_complete = excluded.is_complete, is_stale = excluded.is_stale,
            events = CASE WHEN report.events > excluded.events THEN report.events ELSE excluded.events END,
            got = report.got + excluded.got, began_at = excluded.began_at, ended_at = excluded.ended_at, took = excluded.took,
            heard_at = excluded.heard_at, why = excluded.why, detail = excluded.detail
        WHERE report.node = excluded.node
        """,
    )


FINISH = _finish(
    "reports.finish",
    """
            changed = excluded.changed, pending = excluded.pending, failed = excluded.failed, skipped = excluded.skipped,
            waiting = excluded.waiting, corrective = excluded.corrective,""",
)
# The end of a run without counts: the counts reported so far stay.
FINISH_UNCOUNTED = _finish("reports.finish_uncounted", "")
ADD_PAGE = insert(
    "reports.add_page",
    "report_page",
    "report text, first int, at int, last int, body bytes",
    "ON CONFLICT (report, first, at) DO NOTHING",
)
# Without ON CONFLICT, which would double the cost. There are no conflicts: a transaction stores each number of a report once, and two
# transactions of one node never have the same time.
ADD_EVENT = insert(
    "reports.add_event",
    "report_event",
    "report text, number int, at int, node text, resource text, status text, is_corrective int, message text",
)
OWNED = Query(
    "reports.owned",
    """
    -- The node of each of these reports.
    SELECT id, node FROM report WHERE id IN (SELECT value FROM json_each(:ids))
    """,
    postgresql="""
    -- One look-up for each id: for many ids at once, the planner scans a table that has grown since the last ANALYZE.
    SELECT known.id, known.node FROM jsonb_array_elements_text(CAST(:ids AS JSONB)) AS ids (value),
        LATERAL (SELECT id, node FROM report WHERE id = value LIMIT 1) AS known
    """,
)
BREAK_OFF = Query(
    "reports.break_off",
    """
    -- Runs from which nothing was received for too long.
    UPDATE report SET state = 'broken-off', why = :why, heard_at = :now
    WHERE state = 'running' AND heard_at < :before_at
    RETURNING id
    """,
)
SHOW = Query("reports.show", f"SELECT {COLUMNS}, detail FROM report WHERE id = :id")
ONE = Query("reports.one", f"SELECT {COLUMNS} FROM report WHERE id = :id")
SOME = Query(
    "reports.some",
    f"SELECT {COLUMNS} FROM report WHERE id IN (SELECT value FROM json_each(:ids))",
    postgresql=f"SELECT {COLUMNS} FROM report WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB))))",
)
LATEST = Query(
    "reports.latest",
    f"""
    -- The newest report of each node.
    SELECT {COLUMNS} FROM report WHERE id IN (
        SELECT (SELECT id FROM report WHERE node = names.value ORDER BY received_at DESC, id DESC LIMIT 1)
        FROM json_each(:nodes) AS names
    )
    """,
    postgresql=f"""
    SELECT {COLUMNS} FROM report WHERE id = ANY (ARRAY(
        SELECT (SELECT id FROM report WHERE node = names.value ORDER BY received_at DESC, id DESC LIMIT 1)
        FROM jsonb_array_elements_text(CAST(:nodes AS JSONB)) AS names (value)
    ))
    """,
)
FAILING = Query(
    "reports.failing",
    """
    -- Nodes whose newest finished run failed. Walks from name to name over the index of nodes and times.
    WITH RECURSIVE known (node) AS (
        SELECT min(node) FROM report
        UNION ALL
        SELECT (SELECT min(node) FROM report WHERE report.node > known.node) FROM known WHERE known.node IS NOT NULL
    )
    SELECT node FROM known WHERE node IS NOT NULL AND (
        SELECT CASE WHEN failed > 0 OR state IN ('broken-off', 'not-run') THEN 1 ELSE 0 END FROM report
        WHERE report.node = known.node AND state <> 'running' ORDER BY received_at DESC, id DESC LIMIT 1
    ) = 1
    ORDER BY node LIMIT :limit
    """,
)
PAGES = Query(
    "reports.pages",
    """
    SELECT first, last, body FROM report_page WHERE report = :id AND last > :after_number ORDER BY first, at LIMIT :limit
    """,
)
REST = Query("reports.rest", "SELECT body FROM report_page WHERE report = :id AND first = 0 LIMIT 1")
# Newest first, before a cursor; the leading condition uses an index, the others filter its rows.
_LIST = """
    SELECT {columns} FROM report
    WHERE {leading} AND (received_at, id) < (:before_at, :before_id)
        AND (:state = '' OR state = :state) AND (:environment = '' OR environment = :environment)
        AND (:is_failed = 0 OR failed > 0) AND (:is_changed = 0 OR changed > 0 OR pending > 0)
    ORDER BY received_at DESC, id DESC LIMIT :limit
"""


def _list(name: str, leading: str) -> Query:
    return Query(f"reports.list_{name}", _LIST.format(columns=COLUMNS, leading=leading))


LIST_ALL = _list("all", "1 = 1")
LIST_NODE = _list("node", "node = :node")
# By the id of an order, or of the job whose orders they were.
LIST_ORDER = _list(
    "order",
    "substr(order_id, 1, 36) = substr(:order_id, 1, 36) AND order_id <> ''"
    " AND (order_id = :order_id OR length(:order_id) = 36)",
)
LIST_FAILED = _list("failed", "failed > 0")
LIST_CHANGED = _list("changed", "(changed > 0 OR pending > 0)")
_EVENTS = """
    SELECT node, report, number, resource, status, is_corrective, at, message FROM report_event
    WHERE {leading} AND (at, report, number) < (:before_at, :before_id, :before_number)
    ORDER BY at DESC, report DESC, number DESC LIMIT :limit
"""
EVENTS_OF = Query(
    "reports.events_of", _EVENTS.format(leading="resource = :resource AND (:status = '' OR status = :status)")
)
EVENTS_FAILED = Query("reports.events_failed", _EVENTS.format(leading="status = 'failed'"))
TRIM_REPORTS = Query(
    "reports.trim",
    """
    -- The oldest before a time, a few at a time, so that no writer waits long.
    DELETE FROM report WHERE id IN (SELECT id FROM report WHERE received_at < :before_at ORDER BY received_at LIMIT :limit)
    RETURNING id
    """,
)
TRIM_PAGES = Query(
    "reports.trim_pages",
    """
    DELETE FROM report_page WHERE (report, first, at) IN (
        SELECT report, first, at FROM report_page WHERE at < :before_at ORDER BY at LIMIT :limit
    )
    RETURNING first
    """,
)
TRIM_EVENTS = Query(
    "reports.trim_events",
    """
    DELETE FROM report_event WHERE (report, number, at) IN (
        SELECT report, number, at FROM report_event WHERE at < :before_at ORDER BY at LIMIT :limit
    )
    RETURNING number
    """,
)
DELETE_PAGES = Query(
    "reports.delete_pages",
    "DELETE FROM report_page WHERE report IN (SELECT id FROM report WHERE node = :node)",
)
DELETE_EVENTS = Query(
    "reports.delete_events",
    "DELETE FROM report_event WHERE report IN (SELECT id FROM report WHERE node = :node)",
)
DELETE = Query("reports.delete", "DELETE FROM report WHERE node = :node")
