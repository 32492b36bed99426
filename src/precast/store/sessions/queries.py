"""The SQL of sessions and servers. Only `sessions` uses it."""

from precast.store.engine.query import Query, batch

LOCK = Query(
    "sessions.lock",
    """
    -- Returns the node's session as it was, creates it if it does not exist, and locks the row until the commit.
    INSERT INTO session (node, epoch, instance, attempts, machine_id, machine, address, boot_id, agent, connected_at, lost)
    VALUES (:node, 0, '', '[]', '', '', '', '', '', 0, 0)
    ON CONFLICT (node) DO UPDATE SET node = excluded.node
    RETURNING epoch, server, instance, attempts, machine_id, machine, address, boot_id, agent, connected_at, disconnected_at, held_at,
        (SELECT lease_until FROM server WHERE server.id = session.server)
    """,
)
BEGIN = Query(
    "sessions.begin",
    """
    UPDATE session SET epoch = :epoch, server = :server, instance = :instance, attempts = :attempts, machine_id = :machine_id,
        address = :address, boot_id = :boot_id, agent = :agent, connected_at = :now, disconnected_at = NULL, lost = lost + :lost
    WHERE node = :node
    """,
)
# The epoch grows, so that a connection that is open can store nothing more and is closed.
HOLD = Query(
    "sessions.hold",
    """
    UPDATE session SET epoch = :epoch, server = NULL, connected_at = :now, disconnected_at = :now, held_at = :now WHERE node = :node
    """,
)
CHOOSE = Query(
    "sessions.choose",
    """
    -- Makes another machine the node, or the same one again, and ends the hold.
    UPDATE session SET epoch = epoch + 1, server = NULL, instance = :instance, attempts = :attempts, machine_id = :machine_id,
        machine = :machine, address = :address, boot_id = :boot_id, agent = :agent, connected_at = :now, disconnected_at = :now,
        held_at = NULL
    WHERE node = :node
    """,
)
BEGIN_LIFE = Query(
    "sessions.begin_life",
    """
    -- Forgets the machine that was the node. The epoch stays, and grows, so that connections of the earlier life are fenced off.
    UPDATE session SET epoch = epoch + 1, server = NULL, instance = '', attempts = '[]', machine_id = '', machine = '',
        connected_at = :now, disconnected_at = :now, lost = 0, held_at = NULL
    WHERE node = :node
    """,
)
HELD = Query(
    "sessions.held",
    "SELECT node FROM session WHERE held_at IS NOT NULL AND node IN (SELECT value FROM json_each(:nodes))",
    postgresql="""
    SELECT node FROM session WHERE held_at IS NOT NULL
        AND node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
LIST_HELD = Query(
    "sessions.list_held", "SELECT node FROM session WHERE held_at IS NOT NULL ORDER BY held_at, node LIMIT :limit"
)
SET_BACK = Query(
    "sessions.set_back",
    """
    -- The stream of a machine that was set back continues from the machine's own number.
    UPDATE session_stream SET received = :given, at = at + 1 WHERE node = :node AND instance = :instance AND received > :given
    """,
)
# Each time a stream advances or is opened, its `at` grows, whatever the clock says. So a caller that knows the current `at` also knows
# the position of the stream, and that no newer session has opened it since.
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
FENCE_STREAMS = Query("sessions.fence_streams", "UPDATE session_stream SET at = at + 1 WHERE node = :node")
FORGET_STREAMS = Query(
    "sessions.forget_streams",
    """
    -- Deletes the streams of a node besides the newest ones and that of `instance`.
    DELETE FROM session_stream WHERE node = :node AND instance IN (
        SELECT instance FROM session_stream WHERE node = :node AND instance <> :instance
        ORDER BY at DESC, instance LIMIT :limit OFFSET :kept
    )
    """,
)
RECEIVED = Query("sessions.received", "SELECT received FROM session_stream WHERE node = :node AND instance = :instance")
LOCK_STREAMS = Query(
    "sessions.lock_streams",
    """
    -- How far the records of some nodes are stored; the rows stay locked until the commit. `items` are pairs of node and instance.
    SELECT node, instance, received, at FROM session_stream
    WHERE (node, instance) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:items))
    """,
    postgresql="""
    SELECT locked.* FROM jsonb_array_elements(CAST(:items AS JSONB)) AS items (value), LATERAL (
        SELECT node, instance, received, at FROM session_stream
        WHERE node = items.value ->> 0 AND instance = items.value ->> 1 FOR UPDATE) AS locked
    """,
)
EPOCHS = Query(
    "sessions.epochs",
    "SELECT node, epoch FROM session WHERE node IN (SELECT value FROM json_each(:nodes))",
    postgresql="""
    SELECT known.* FROM jsonb_array_elements_text(CAST(:nodes AS JSONB)) AS names (name), LATERAL (
        SELECT node, epoch FROM session WHERE node = names.name LIMIT 1) AS known
    """,
)
MOVE_STREAM = batch(
    "sessions.move_stream",
    "node word, instance word, known_at number, received number, now number",
    """
    UPDATE session_stream SET received = input.received, at = input.now FROM input
    WHERE session_stream.node = input.node AND session_stream.instance = input.instance AND session_stream.at = input.known_at
    """,
)
ADD_LOSSES = Query("sessions.lose", "UPDATE session SET lost = lost + :lost WHERE node = :node")
END = Query(
    "sessions.end",
    """
    UPDATE session SET server = NULL, disconnected_at = :now WHERE node = :node AND epoch = :epoch AND server = :server
    """,
)
NEWER = Query(
    "sessions.newer",
    """
    -- Nodes that connected lately to any server: a server that has an older connection of such a node closes it.
    SELECT node, epoch FROM session WHERE connected_at >= :since ORDER BY connected_at, node LIMIT :limit
    """,
)
RENEW_LEASE = Query(
    "sessions.renew_lease",
    """
    INSERT INTO server (id, name, started_at, lease_until, connections)
    VALUES (:server, :name, :now, :until, :connections)
    ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until, connections = excluded.connections
    RETURNING started_at
    """,
)
END_GHOSTS = Query(
    "sessions.end_ghosts",
    """
    -- Ends the leases of servers that cannot be alive: of the same name as a server that has just started, which has the port, and
    -- leases that end too late, because they were taken while the clock was ahead. If such a server is alive, its next renewal restores it.
    UPDATE server SET lease_until = :now - 1, connections = 0
    WHERE id <> :server AND lease_until >= :now AND (name = :name OR lease_until > :latest)
    """,
    postgresql="""
    UPDATE server SET lease_until = :now - 1, connections = 0 WHERE id IN (
        SELECT id FROM server WHERE id <> :server AND lease_until >= :now AND (name = :name OR lease_until > :latest)
        FOR UPDATE SKIP LOCKED
    )
    """,
)
END_LEASE = Query("sessions.end_lease", "UPDATE server SET lease_until = :now, connections = 0 WHERE id = :server")
# On PostgreSQL the locked rows are those of a server that renews its lease now, of one that another server handles, or of a node that
# reconnects now. All of them are right without us, and waiting for them could deadlock.
REAP = Query(
    "sessions.reap",
    """
    -- Ends the sessions of servers whose lease has ended, as of the end of the lease.
    UPDATE session SET disconnected_at = (SELECT lease_until FROM server WHERE server.id = session.server), server = NULL
    WHERE server IN (SELECT id FROM server WHERE lease_until < :now)
    """,
    postgresql="""
    WITH expired AS (SELECT id, lease_until FROM server WHERE lease_until < :now FOR UPDATE SKIP LOCKED),
        stale AS (SELECT session.node, expired.lease_until FROM session JOIN expired ON expired.id = session.server
            FOR UPDATE OF session SKIP LOCKED)
    UPDATE session SET disconnected_at = stale.lease_until, server = NULL FROM stale WHERE session.node = stale.node
    """,
)
REGISTERED = Query(
    "sessions.registered",
    """
    -- The sessions that are registered for a server.
    SELECT node, epoch FROM session WHERE server = :server AND node > :after_node ORDER BY node LIMIT :limit
    """,
)
RESUME = batch(
    "sessions.resume",
    "node word, epoch number, server word",
    """
    UPDATE session SET server = input.server, disconnected_at = NULL FROM input
    WHERE session.node = input.node AND session.epoch = input.epoch AND session.server IS NULL
    """,
)
ALIVE = Query("sessions.alive", "SELECT id FROM server WHERE lease_until >= :now ORDER BY id")
OWNERS = Query(
    "sessions.owners",
    "SELECT node, epoch, server FROM session WHERE node IN (SELECT value FROM json_each(:nodes))",
    postgresql="""
    SELECT node, epoch, server FROM session
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
DELETE_SERVERS = Query(
    "sessions.delete_servers",
    "DELETE FROM server WHERE lease_until < :gone_before AND id NOT IN (SELECT server FROM session WHERE server IS NOT NULL)",
)
COUNT = Query("sessions.count", "SELECT count(*) FROM session")
SERVERS = Query(
    "sessions.servers",
    """
    SELECT id, name, started_at, lease_until, connections FROM server WHERE id > :after ORDER BY id LIMIT :limit
    """,
)
PRESENCE = batch(
    "sessions.presence",
    "node text",
    """
    SELECT session.node, epoch, server.name, lease_until, address, agent, boot_id, connected_at, disconnected_at, lost,
        machine_id, held_at
    FROM input CROSS JOIN session LEFT JOIN server ON server.id = session.server WHERE session.node = input.node
    """,
    key=("node",),
)
PRESENCES = Query(
    "sessions.presences",
    """
    -- As sessions.presence, for the nodes in a range of names.
    SELECT session.node, epoch, server.name, lease_until, address, agent, boot_id, connected_at, disconnected_at, lost,
        machine_id, held_at
    FROM session LEFT JOIN server ON server.id = session.server
    WHERE session.node > :after_node AND session.node <= :until_node ORDER BY session.node LIMIT :limit
    """,
)
PRESENT = Query(
    "sessions.present",
    """
    -- Those of the nodes that are connected to any server.
    SELECT session.node FROM session JOIN server ON server.id = session.server
    WHERE session.node IN (SELECT value FROM json_each(:nodes)) AND server.lease_until > :now
    """,
    postgresql="""
    SELECT session.node FROM session JOIN server ON server.id = session.server
    WHERE session.node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) AND server.lease_until > :now
    """,
)
EXPECTED = Query(
    "sessions.expected",
    """
    -- Those of the nodes that are connected, or were so after a time, and are not on hold.
    SELECT session.node FROM session LEFT JOIN server ON server.id = session.server
    WHERE session.node IN (SELECT value FROM json_each(:nodes)) AND session.held_at IS NULL
        AND (server.lease_until > :since OR session.server IS NULL AND session.disconnected_at > :since)
    """,
    postgresql="""
    SELECT session.node FROM session LEFT JOIN server ON server.id = session.server
    WHERE session.node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) AND session.held_at IS NULL
        AND (server.lease_until > :since OR session.server IS NULL AND session.disconnected_at > :since)
    """,
)
DELETE_SESSION = Query("sessions.delete", "DELETE FROM session WHERE node = :node")
DELETE_STREAMS = Query("sessions.delete_streams", "DELETE FROM session_stream WHERE node = :node")
