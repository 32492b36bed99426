"""The SQL of facts. Only `facts` uses it.

Documents (`stable`, `volatile`, `body`, `recent`, `changes`) are compressed JSON. Statements for many nodes take their names as one JSON
list.
"""

from datetime import timedelta

from precast.store.engine.query import Query, batch, insert

RECEIVE = Query(
    "facts.receive",
    """
    -- A newer set replaces one that is not decided yet.
    INSERT INTO fact_inbox (node, digest, stable, volatile, received_at)
    VALUES (:node, :digest, :stable, :volatile, :now)
    ON CONFLICT (node) DO UPDATE SET
        digest = excluded.digest, stable = excluded.stable, volatile = excluded.volatile, received_at = excluded.received_at
    """,
)
NEWEST = Query(
    "facts.newest",
    """
    -- The digest of the newest set of each node: the one in the inbox, else the stored one.
    SELECT names.value, COALESCE(fact_inbox.digest, fact_set.digest)
    FROM json_each(:nodes) AS names
    LEFT JOIN fact_inbox ON fact_inbox.node = names.value
    LEFT JOIN fact_set ON fact_set.node = names.value
    """,
    postgresql="""
    SELECT names.value, COALESCE(
        (SELECT digest FROM fact_inbox WHERE node = names.value), (SELECT digest FROM fact_set WHERE node = names.value))
    FROM jsonb_array_elements_text(CAST(:nodes AS JSONB)) AS names (value)
    """,
)
WAITING = Query(
    "facts.waiting",
    """
    SELECT node, digest, stable, volatile, received_at FROM fact_inbox
    WHERE node IN (SELECT value FROM json_each(:nodes)) ORDER BY node
    """,
    postgresql="""
    SELECT node, digest, stable, volatile, received_at FROM fact_inbox
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) ORDER BY node
    """,
)
FILTER_WAITING = Query(
    "facts.queued",
    "SELECT node FROM fact_inbox WHERE node IN (SELECT value FROM json_each(:nodes))",
    postgresql="""
    SELECT node FROM fact_inbox WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
LOCK_STORED = Query(
    "facts.lock_stored",
    """
    -- The stored sets of some nodes, and how often the nodes have sent facts; the rows stay locked until the commit.
    SELECT node, digest, stable, received_at, decision, decided_at, allowed_at, recent,
        (SELECT submissions FROM fact_volatile WHERE fact_volatile.node = fact_set.node)
    FROM fact_set WHERE node IN (SELECT value FROM json_each(:nodes)) ORDER BY node
    """,
    postgresql="""
    SELECT node, digest, stable, received_at, decision, decided_at, allowed_at, recent,
        (SELECT submissions FROM fact_volatile WHERE fact_volatile.node = fact_set.node)
    FROM fact_set WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    ORDER BY node FOR UPDATE
    """,
)
STABLE = Query("facts.stable", "SELECT digest, stable FROM fact_set WHERE node = :node")
CLEAR = Query(
    "facts.clear", "DELETE FROM fact_inbox WHERE node = :node AND digest = :digest AND received_at = :received_at"
)
STORED = Query(
    "facts.stored",
    "SELECT node, digest, stable, received_at, decision, decided_at, allowed_at, recent FROM fact_set WHERE node = :node",
)
STORE = insert(
    "facts.store",
    "fact_set",
    "node word, digest word, stable bytes, received_at number, decision text, decided_at number, allowed_at number, recent bytes",
    """
    ON CONFLICT (node) DO UPDATE SET
        digest = excluded.digest, stable = excluded.stable, received_at = excluded.received_at,
        decision = excluded.decision, decided_at = excluded.decided_at, allowed_at = excluded.allowed_at,
        recent = excluded.recent
    """,
)
# Every submission is counted; of two volatile parts the one received later is kept.
_KEEP_LATER = """
    ON CONFLICT (node) DO UPDATE SET
        body = CASE WHEN excluded.received_at < fact_volatile.received_at THEN fact_volatile.body ELSE excluded.body END,
        received_at = CASE WHEN excluded.received_at < fact_volatile.received_at
                           THEN fact_volatile.received_at ELSE excluded.received_at END,
        submissions = fact_volatile.submissions + excluded.submissions
    """
STORE_VOLATILE = insert(
    "facts.store_volatile",
    "fact_volatile",
    "node word, body bytes, received_at number, submissions number",
    _KEEP_LATER,
)
REFRESH_VOLATILE = batch(
    "facts.refresh_volatile",
    "node word, body bytes, received_at number, digest word",
    f"""
    -- As facts.store_volatile, but only for nodes whose newest set has the given digest; returns those nodes.
    INSERT INTO fact_volatile (node, body, received_at, submissions)
    SELECT node, body, received_at, 1 FROM input WHERE digest = COALESCE(
        (SELECT digest FROM fact_inbox WHERE fact_inbox.node = input.node),
        (SELECT digest FROM fact_set WHERE fact_set.node = input.node))
    {_KEEP_LATER}
    RETURNING node
    """,  # noqa: S608 - made of constants
)
VOLATILE = Query("facts.volatile", "SELECT body FROM fact_volatile WHERE node = :node")
ADD_STEP = insert("facts.add_step", "fact_history", "node word, at number, count number, changes bytes")
HISTORY = Query(
    "facts.history",
    """
    SELECT at, changes FROM fact_history WHERE node = :node AND at < :before_at ORDER BY at DESC LIMIT :limit
    """,
)
TRIM_OLD = Query(
    "facts.trim_old",
    """
    -- The oldest steps before a time, a few at a time, so that no writer waits long.
    DELETE FROM fact_history WHERE (node, at) IN (
        SELECT node, at FROM fact_history WHERE at < :before_at ORDER BY at, node LIMIT :limit
    )
    RETURNING at
    """,
)
CROWDED = Query(
    "facts.crowded",
    """
    -- Nodes with more steps than `keep`. Reads the whole index of the history, so it runs rarely.
    SELECT node FROM fact_history WHERE node > :after_node GROUP BY node HAVING count(*) > :keep ORDER BY node LIMIT :limit
    """,
)
TRIM_NODE = Query(
    "facts.trim_node",
    """
    -- The oldest steps of a node beyond `keep`, a few at a time.
    DELETE FROM fact_history WHERE node = :node AND at IN (
        SELECT at FROM fact_history WHERE node = :node AND at <= (
            SELECT at FROM fact_history WHERE node = :node ORDER BY at DESC LIMIT 1 OFFSET :keep
        )
        ORDER BY at LIMIT :limit
    )
    RETURNING at
    """,
)
QUIET = timedelta(hours=1)
_QUIET_MICROS = QUIET // timedelta(microseconds=1)
# A path changed more often than the node's compile allowance permits. After a quiet time it is counted from 1 again.
FLAP = insert(
    "facts.flap",
    "fact_flap",
    "node text, path text, times int, since int, last_at int",
    f"""
    ON CONFLICT (node, path) DO UPDATE SET
        times = CASE WHEN fact_flap.last_at < excluded.since - {_QUIET_MICROS}
                     THEN 1 ELSE fact_flap.times + 1 END,
        since = CASE WHEN fact_flap.last_at < excluded.since - {_QUIET_MICROS}
                     THEN excluded.since ELSE fact_flap.since END,
        last_at = excluded.last_at
    """,
)
FLAPS = Query(
    "facts.flaps",
    """
    SELECT node, path, times, since, last_at FROM fact_flap WHERE last_at >= :since AND (node, path) > (:after_node, :after)
    ORDER BY node, path LIMIT :limit
    """,
)
TRIM_FLAPS = Query(
    "facts.trim_flaps",
    """
    DELETE FROM fact_flap WHERE (node, path) IN (
        SELECT node, path FROM fact_flap WHERE last_at < :before_at ORDER BY last_at LIMIT :limit
    )
    RETURNING path
    """,
)
