"""The SQL of released catalogs. Only `released` uses it.

The times of a node's releases only grow, even if the clock was set back, because a node applies none that is older.
"""

from precast.store.engine.query import Query, batch

RELEASE = batch(
    "catalogs.release",
    "node text, digest text, skeleton text, fill text, environment text, version text, now int, actor text, release int,"
    " commit_id text",
    """
    -- Each node counts its own releases. The parent is what the node is served at present.
    INSERT INTO node_release (node, number, digest, skeleton, fill, environment, version, released_at, released_by,
        release, origin, origin_release, parent, commit_id)
    SELECT input.node, coalesce(served.number, 0) + 1, input.digest, input.skeleton, input.fill, input.environment,
        input.version,
        CASE WHEN coalesce(served.released_at, 0) < input.now THEN input.now ELSE served.released_at + 1 END,
        input.actor, input.release, coalesce(served.number, 0) + 1, input.release,
        served.origin, input.commit_id
    FROM input LEFT JOIN node_release AS served ON served.node = input.node
        AND served.number = (SELECT max(number) FROM node_release WHERE node = input.node)
    """,
)
RESTORE = batch(
    "catalogs.restore",
    "node text, restored int, now int, actor text, release int",
    """
    -- Nothing is inserted for a source that was trimmed meanwhile.
    INSERT INTO node_release (node, number, digest, skeleton, fill, environment, version, released_at, released_by,
        release, origin, origin_release, parent, commit_id)
    SELECT input.node, served.number + 1, source.digest, source.skeleton, source.fill, source.environment,
        source.version,
        CASE WHEN coalesce(served.released_at, 0) < input.now THEN input.now ELSE served.released_at + 1 END,
        input.actor, input.release, source.origin, source.origin_release,
        source.parent, source.commit_id
    FROM input LEFT JOIN node_release AS served ON served.node = input.node
        AND served.number = (SELECT max(number) FROM node_release WHERE node = input.node)
    JOIN node_release AS source ON source.node = input.node AND source.number = input.restored
    RETURNING node
    """,
)
SERVED = Query(
    "catalogs.served",
    """
    SELECT node, number, digest, skeleton, fill, environment, version, released_at, released_by,
        release, origin, origin_release, parent, commit_id
    FROM node_release WHERE node = :node ORDER BY number DESC LIMIT 1
    """,
)
SERVED_TO_EACH = Query(
    "catalogs.served_to",
    """
    SELECT node, number, digest, skeleton, fill, environment, version, released_at, released_by,
        release, origin, origin_release, parent, commit_id
    FROM node_release WHERE (node, number) IN (
        SELECT value, (SELECT max(number) FROM node_release WHERE node = value) FROM json_each(:nodes)
    )
    """,
    postgresql="""
    SELECT newest.* FROM jsonb_array_elements_text(CAST(:nodes AS JSONB)) AS names (name), LATERAL (
        SELECT node, number, digest, skeleton, fill, environment, version, released_at, released_by,
        release, origin, origin_release, parent, commit_id
    FROM node_release WHERE node = names.name ORDER BY number DESC LIMIT 1) AS newest
    """,
)
RELEASES = Query(
    "catalogs.releases",
    """
    SELECT node, number, digest, skeleton, fill, environment, version, released_at, released_by,
        release, origin, origin_release, parent, commit_id
    FROM node_release WHERE node = :node ORDER BY number DESC LIMIT :limit
    """,
)
HISTORY = Query(
    "catalogs.history",
    """
    SELECT node, number, digest, skeleton, environment, version, released_at, released_by,
        release, origin, origin_release, parent, commit_id
    FROM node_release WHERE node = :node ORDER BY number DESC LIMIT :limit
    """,
)
NUMBERED = Query(
    "catalogs.numbered_releases",
    """
    SELECT node, number, digest, skeleton, environment, version, released_at, released_by,
        release, origin, origin_release, parent, commit_id
    FROM node_release WHERE (node, number) IN (
        SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:pairs)
    )
    """,
    postgresql="""
    SELECT r.node, r.number, r.digest, r.skeleton, r.environment, r.version, r.released_at, r.released_by,
        r.release, r.origin, r.origin_release, r.parent, r.commit_id
    FROM jsonb_array_elements(CAST(:pairs AS JSONB)) AS pair (value)
    JOIN node_release AS r ON r.node = pair.value ->> 0 AND r.number = CAST(pair.value ->> 1 AS BIGINT)
    """,
)
FILLS = Query(
    "catalogs.fills",
    """
    SELECT node, fill FROM node_release WHERE (node, number) IN (
        SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:pairs)
    )
    """,
    postgresql="""
    SELECT r.node, r.fill FROM jsonb_array_elements(CAST(:pairs AS JSONB)) AS pair (value)
    JOIN node_release AS r ON r.node = pair.value ->> 0 AND r.number = CAST(pair.value ->> 1 AS BIGINT)
    """,
)
OF_RELEASE = Query(
    "catalogs.of_release",
    """
    SELECT node, number, digest, skeleton, environment, version, released_at, released_by,
        release, origin, origin_release, parent, commit_id
    FROM node_release WHERE release = :release AND node IN (SELECT value FROM json_each(:nodes))
    """,
    postgresql="""
    SELECT node, number, digest, skeleton, environment, version, released_at, released_by,
        release, origin, origin_release, parent, commit_id
    FROM node_release WHERE release = :release AND node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
OF_COMMIT = Query(
    "catalogs.of_commit",
    """
    -- The beginning of a commit, or of a version of the code, is a hexadecimal number.
    SELECT node, number, digest, skeleton, environment, version, released_at, released_by,
        release, origin, origin_release, parent, commit_id
    FROM node_release WHERE node IN (SELECT value FROM json_each(:nodes))
        AND (commit_id LIKE :beginning || '%' OR version LIKE :beginning || '%')
    ORDER BY node, number
    """,
    postgresql="""
    SELECT node, number, digest, skeleton, environment, version, released_at, released_by,
        release, origin, origin_release, parent, commit_id
    FROM node_release WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
        AND (commit_id LIKE :beginning || '%' OR version LIKE :beginning || '%')
    ORDER BY node, number
    """,
)
OF_TIME = Query(
    "catalogs.of_time",
    """
    SELECT node, number, digest, skeleton, environment, version, released_at, released_by,
        release, origin, origin_release, parent, commit_id
    FROM node_release WHERE (node, number) IN (
        SELECT value, (SELECT max(number) FROM node_release WHERE node = value AND released_at <= :at) FROM json_each(:nodes)
    )
    """,
    postgresql="""
    SELECT newest.* FROM jsonb_array_elements_text(CAST(:nodes AS JSONB)) AS names (name), LATERAL (
        SELECT node, number, digest, skeleton, environment, version, released_at, released_by,
        release, origin, origin_release, parent, commit_id
    FROM node_release WHERE node = names.name AND released_at <= :at
        ORDER BY number DESC LIMIT 1) AS newest
    """,
)
WITH_DIGEST = Query(
    "catalogs.releases_with_digest",
    """
    SELECT DISTINCT node FROM node_release WHERE (node, digest) IN (
        SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:pairs)
    )
    """,
    postgresql="""
    SELECT DISTINCT r.node FROM jsonb_array_elements(CAST(:pairs AS JSONB)) AS pair (value)
    JOIN node_release AS r ON r.node = pair.value ->> 0 AND r.digest = pair.value ->> 1
    """,
)
RELEASED_SINCE = Query(
    "catalogs.released_since",
    """
    SELECT node, digest FROM node_release WHERE released_at >= :since ORDER BY released_at, node, number LIMIT :limit
    """,
)
CROWDED = Query(
    "catalogs.crowded",
    """
    -- Nodes with more releases than `keep`. Reads the whole index, so it runs rarely.
    SELECT node FROM node_release WHERE node > :after_node GROUP BY node HAVING count(*) > :keep ORDER BY node LIMIT :limit
    """,
)
TRIM = Query(
    "catalogs.trim",
    """
    -- The oldest releases beyond `keep`; never the newest, the one that it restores, nor the one that a rollback would restore.
    DELETE FROM node_release WHERE node = :node AND number <= (
        SELECT number FROM node_release WHERE node = :node ORDER BY number DESC LIMIT 1 OFFSET :keep
    )
    AND NOT EXISTS (
        SELECT 1 FROM node_release AS served
        WHERE served.node = :node AND served.number = (SELECT max(number) FROM node_release WHERE node = :node)
            AND node_release.number IN (served.number, served.origin, coalesce(served.parent, 0))
    )
    RETURNING number
    """,
)
DELETE = Query("catalogs.delete_releases", "DELETE FROM node_release WHERE node = :node")
