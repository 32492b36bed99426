"""What is asked of the tables of sessions and servers."""

from precast.store.engine.query import Query, batch

TAKE = Query(
    "sessions.take",
    """
    -- The node's session as it was, made if need be, ours until the commit.
    INSERT INTO session (node, epoch, instance, attempt, address, boot_id, agent, connected_at, lost)
    VALUES (:node, 0, '', '', '', '', '', 0, 0)
    ON CONFLICT (node) DO UPDATE SET node = excluded.node
    RETURNING epoch, server, instance, attempt, clone_at,
        (SELECT lease_until FROM server WHERE server.id = session.server)
    """,
)
BEGIN = Query(
    "sessions.begin",
    """
    UPDATE session SET epoch = :epoch, server = :server, instance = :instance, attempt = :attempt, address = :address,
        boot_id = :boot_id, agent = :agent, connected_at = :now, disconnected_at = NULL, lost = lost + :lost
    WHERE node = :node
    """,
)
MARK_CLONE = Query(
    "sessions.mark_clone", "UPDATE session SET clone_at = :now, clone_address = :address WHERE node = :node"
)
# A stream that is moved on, or that somebody comes for, gets another moment each time, whatever the clock says: so whoever knows its
# moment knows how far it is, and that nobody has come since.
OPEN_STREAM = Query(
    "sessions.open_stream",
    """
    INSERT INTO session_stream (node, instance, received, at) VALUES (:node, :instance, 0, :now)
    ON CONFLICT (node, instance) DO UPDATE SET
        at = CASE WHEN excluded.at > session_stream.at THEN excluded.at ELSE session_stream.at + 1 END
    RETURNING received, at
    """,
)
FENCE_STREAM = Query(
    "sessions.fence_stream", "UPDATE session_stream SET at = at + 1 WHERE node = :node AND instance = :instance"
)
KNOWS_INSTANCE = Query(
    "sessions.knows_instance", "SELECT 1 FROM session_stream WHERE node = :node AND instance = :instance"
)
HOLD_STREAMS = Query(
    "sessions.hold_streams",
    """
    -- How far the records of some nodes are stored; the rows are ours until the commit. Pairs of node and instance.
    SELECT node, instance, received, at FROM session_stream
    WHERE (node, instance) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:items))
    """,
    postgresql="""
    SELECT one.* FROM jsonb_array_elements(CAST(:items AS JSONB)) AS asked (value), LATERAL (
        SELECT node, instance, received, at FROM session_stream
        WHERE node = asked.value ->> 0 AND instance = asked.value ->> 1 FOR UPDATE) AS one
    """,
)
EPOCHS = Query(
    "sessions.epochs",
    "SELECT node, epoch FROM session WHERE node IN (SELECT value FROM json_each(:nodes))",
    postgresql="""
    SELECT one.* FROM jsonb_array_elements_text(CAST(:nodes AS JSONB)) AS asked (name), LATERAL (
        SELECT node, epoch FROM session WHERE node = asked.name LIMIT 1) AS one
    """,
)
MOVE_STREAM = batch(
    "sessions.move_stream",
    "node word, instance word, known_at number, received number, now number",
    """
    UPDATE session_stream SET received = came.received, at = came.now FROM came
    WHERE session_stream.node = came.node AND session_stream.instance = came.instance AND session_stream.at = came.known_at
    """,
)
LOSE = Query("sessions.lose", "UPDATE session SET lost = lost + :lost WHERE node = :node")
END = Query(
    "sessions.end",
    """
    UPDATE session SET server = NULL, disconnected_at = :now WHERE node = :node AND epoch = :epoch AND server = :server
    """,
)
NEWER = Query(
    "sessions.newer",
    """
    -- Who has come lately, anywhere: a server whose connection of that node is older lets go of it.
    SELECT node, epoch FROM session WHERE connected_at >= :since ORDER BY connected_at, node LIMIT :limit
    """,
)
RENEW_LEASE = Query(
    "sessions.renew_lease",
    """
    INSERT INTO server (id, name, started_at, lease_until, connections)
    VALUES (:server, :name, :now, :until, :connections)
    ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until, connections = excluded.connections
    """,
)
END_LEASE = Query("sessions.end_lease", "UPDATE server SET lease_until = :now, connections = 0 WHERE id = :server")
REAP = Query(
    "sessions.reap",
    """
    -- Sessions of servers that are gone; they were there until the lease ended.
    UPDATE session SET disconnected_at = (SELECT lease_until FROM server WHERE server.id = session.server), server = NULL
    WHERE server IN (SELECT id FROM server WHERE lease_until < :now)
    """,
)
FORGET_SERVERS = Query(
    "sessions.forget_servers",
    "DELETE FROM server WHERE lease_until < :gone_before AND id NOT IN (SELECT server FROM session WHERE server IS NOT NULL)",
)
COUNT = Query("sessions.count", "SELECT count(*) FROM session")
SERVERS = Query(
    "sessions.servers",
    """
    SELECT id, name, started_at, lease_until, connections FROM server WHERE id > :after ORDER BY id LIMIT :limit
    """,
)
PRESENCE = Query(
    "sessions.presence",
    """
    SELECT session.node, epoch, server.name, lease_until, address, agent, boot_id, connected_at, disconnected_at, lost,
        clone_at, clone_address
    FROM session LEFT JOIN server ON server.id = session.server WHERE session.node = :node
    """,
)
PRESENCES = Query(
    "sessions.presences",
    """
    -- The same for the nodes after one name, through another.
    SELECT session.node, epoch, server.name, lease_until, address, agent, boot_id, connected_at, disconnected_at, lost,
        clone_at, clone_address
    FROM session LEFT JOIN server ON server.id = session.server
    WHERE session.node > :after_node AND session.node <= :until_node ORDER BY session.node LIMIT :limit
    """,
)
PRESENT = Query(
    "sessions.present",
    """
    -- Which of these nodes are connected somewhere.
    SELECT session.node FROM session JOIN server ON server.id = session.server
    WHERE session.node IN (SELECT value FROM json_each(:nodes)) AND server.lease_until > :now
    """,
    postgresql="""
    SELECT session.node FROM session JOIN server ON server.id = session.server
    WHERE session.node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) AND server.lease_until > :now
    """,
)
FORGET_SESSION = Query("sessions.forget", "DELETE FROM session WHERE node = :node")
FORGET_STREAMS = Query("sessions.forget_streams", "DELETE FROM session_stream WHERE node = :node")
