"""The SQL of the resource index. Only `resource_index` uses it, and `store.catalogs.released` uses the statement that adds a catalog.

A node is served its newest release, the one with the highest number.
"""

from precast.store.engine.query import Query

# How many characters of a digest are used where it is repeated for each resource of a catalog.
ID_CHARS = 24

ADD_CATALOG = Query(
    "catalogs.index_add_catalog",
    """
    -- Locks the row of a known catalog until the commit, so that it is not deleted while it is being released.
    INSERT INTO catalog_index (skeleton, id) VALUES (:skeleton, :id) ON CONFLICT (skeleton) DO UPDATE SET id = excluded.id
    """,
)
ADD_MISSING_CATALOGS = Query(
    "catalogs.index_add_missing",
    """
    -- Reads every release: runs when a server starts, and rarely afterwards.
    INSERT INTO catalog_index (skeleton, id)
    SELECT DISTINCT skeleton, substr(skeleton, 1, CAST(:chars AS INTEGER)) FROM node_release
    WHERE NOT EXISTS (SELECT 1 FROM catalog_index WHERE catalog_index.skeleton = node_release.skeleton)
    ON CONFLICT (skeleton) DO NOTHING
    """,
)
WAITING = Query(
    "catalogs.index_waiting",
    "SELECT skeleton FROM catalog_index WHERE indexed_at IS NULL ORDER BY skeleton LIMIT :limit",
)
COUNT_WAITING = Query(
    "catalogs.index_count_waiting", "SELECT count(skeleton) FROM catalog_index WHERE indexed_at IS NULL"
)
KNOWN = Query(
    "catalogs.index_known",
    "SELECT id FROM catalog_resource WHERE id IN (SELECT value FROM json_each(:ids))",
    postgresql="""
    SELECT id FROM catalog_resource WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB))))
    """,
)
ADD = Query(
    "catalogs.index_add",
    """
    INSERT INTO catalog_resource (id, type, title_key, body) VALUES (:id, :type, :title_key, :body)
    ON CONFLICT (id) DO NOTHING
    """,
)
ADD_VALUE = Query(
    "catalogs.index_add_value",
    """
    INSERT INTO catalog_value (name, value_key, type, resource) VALUES (:name, :value_key, :type, :resource)
    ON CONFLICT (name, value_key, type, resource) DO NOTHING
    """,
)
ADD_MEMBER = Query(
    "catalogs.index_add_member",
    """
    INSERT INTO catalog_member (resource, catalog) VALUES (:resource, :catalog)
    ON CONFLICT (resource, catalog) DO NOTHING
    """,
)
FINISH = Query("catalogs.index_finish", "UPDATE catalog_index SET indexed_at = :now WHERE skeleton = :skeleton")
BY_REFERENCE = Query(
    "catalogs.index_by_reference",
    """
    SELECT id, type, body FROM catalog_resource WHERE type = :type AND title_key = :title_key AND id > :after_id
    ORDER BY id LIMIT :limit
    """,
)
BY_TITLE = Query(
    "catalogs.index_by_title",
    """
    SELECT id, type, body FROM catalog_resource WHERE title_key = :title_key AND (type, id) > (:after_type, :after_id)
    ORDER BY type, id LIMIT :limit
    """,
)
BY_TYPE = Query(
    "catalogs.index_by_type",
    """
    SELECT id, type, body FROM catalog_resource WHERE type = :type AND (title_key, id) > (:after_key, :after_id)
    ORDER BY title_key, id LIMIT :limit
    """,
)
BY_VALUE = Query(
    "catalogs.index_by_value",
    """
    SELECT r.id, r.type, r.body FROM catalog_value AS v JOIN catalog_resource AS r ON r.id = v.resource
    WHERE v.name = :name AND v.value_key = :value_key AND (v.type, v.resource) > (:after_type, :after_id)
    ORDER BY v.type, v.resource LIMIT :limit
    """,
)
BY_VALUE_AND_TYPE = Query(
    "catalogs.index_by_value_and_type",
    """
    SELECT r.id, r.type, r.body FROM catalog_value AS v JOIN catalog_resource AS r ON r.id = v.resource
    WHERE v.name = :name AND v.value_key = :value_key AND v.type = :type AND v.resource > :after_id
    ORDER BY v.resource LIMIT :limit
    """,
)
EVERYTHING = Query(
    "catalogs.index_everything",
    """
    SELECT id, type, body FROM catalog_resource WHERE (type, title_key, id) > (:after_type, :after_key, :after_id)
    ORDER BY type, title_key, id LIMIT :limit
    """,
)
OF_CATALOGS = Query(
    "catalogs.index_of_catalogs",
    """
    -- The resources of a few catalogs, sorted by the database: a few thousand in all.
    SELECT id, type, body FROM catalog_resource
    WHERE id IN (SELECT resource FROM catalog_member WHERE catalog IN (SELECT value FROM json_each(:ids)))
        AND (type, title_key, id) > (:after_type, :after_key, :after_id)
    ORDER BY type, title_key, id LIMIT :limit
    """,
    postgresql="""
    SELECT id, type, body FROM catalog_resource
    WHERE id IN (SELECT resource FROM catalog_member
                 WHERE catalog = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB)))))
        AND (type, title_key, id) > (:after_type, :after_key, :after_id)
    ORDER BY type, title_key, id LIMIT :limit
    """,
)
HOLDERS = Query(
    "catalogs.index_holders",
    """
    -- The nodes of one catalog, from a name on. The cursor comes from outside: a catalog without the resource has none.
    SELECT r.node, r.environment, r.fill FROM node_release AS r
    WHERE r.skeleton = (
            SELECT i.skeleton FROM catalog_member AS m JOIN catalog_index AS i ON i.id = m.catalog
            WHERE m.resource = :resource AND m.catalog = :catalog
        ) AND r.node > :after_node
        AND NOT EXISTS (SELECT 1 FROM node_release AS n WHERE n.node = r.node AND n.number > r.number)
    ORDER BY r.node LIMIT :limit
    """,
)
HOLDERS_OF_NEXT = Query(
    "catalogs.index_holders_of_next",
    """
    -- The nodes of the catalogs that follow one, a catalog after the other. Sorted by node, every page would read all nodes again.
    SELECT m.catalog, r.node, r.environment, r.fill FROM catalog_member AS m
    JOIN catalog_index AS i ON i.id = m.catalog JOIN node_release AS r ON r.skeleton = i.skeleton
    WHERE m.resource = :resource AND m.catalog > :after_catalog
        AND NOT EXISTS (SELECT 1 FROM node_release AS n WHERE n.node = r.node AND n.number > r.number)
    ORDER BY m.catalog, r.node LIMIT :limit
    """,
    postgresql="""
    SELECT m.catalog, r.node, r.environment, r.fill FROM catalog_member AS m
    JOIN catalog_index AS i ON i.id = m.catalog, LATERAL (
        SELECT s.node, s.environment, s.fill FROM node_release AS s WHERE s.skeleton = i.skeleton
            AND NOT EXISTS (SELECT 1 FROM node_release AS n WHERE n.node = s.node AND n.number > s.number)
        ORDER BY s.node LIMIT :limit
    ) AS r
    WHERE m.resource = :resource AND m.catalog > :after_catalog
    ORDER BY m.catalog, r.node LIMIT :limit
    """,
)
COUNT_HOLDERS = Query(
    "catalogs.index_count_holders",
    """
    SELECT m.resource, r.environment, count(*) FROM catalog_member AS m
    JOIN catalog_index AS i ON i.id = m.catalog JOIN node_release AS r ON r.skeleton = i.skeleton
    WHERE m.resource IN (SELECT value FROM json_each(:ids))
        AND NOT EXISTS (SELECT 1 FROM node_release AS n WHERE n.node = r.node AND n.number > r.number)
    GROUP BY m.resource, r.environment
    """,
    postgresql="""
    SELECT m.resource, r.environment, count(*) FROM catalog_member AS m
    JOIN catalog_index AS i ON i.id = m.catalog JOIN node_release AS r ON r.skeleton = i.skeleton
    WHERE m.resource = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB))))
        AND NOT EXISTS (SELECT 1 FROM node_release AS n WHERE n.node = r.node AND n.number > r.number)
    GROUP BY m.resource, r.environment
    """,
)
SKELETONS = Query(
    "catalogs.index_skeletons",
    """
    SELECT m.resource, i.skeleton FROM catalog_member AS m JOIN catalog_index AS i ON i.id = m.catalog
    WHERE m.resource IN (SELECT value FROM json_each(:ids))
    """,
    postgresql="""
    SELECT m.resource, i.skeleton FROM catalog_member AS m JOIN catalog_index AS i ON i.id = m.catalog
    WHERE m.resource = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB))))
    """,
)
UNUSED = Query(
    "catalogs.index_unused",
    """
    -- Reads every catalog of the index, so it runs rarely.
    SELECT skeleton FROM catalog_index
    WHERE NOT EXISTS (SELECT 1 FROM node_release WHERE node_release.skeleton = catalog_index.skeleton)
    ORDER BY skeleton LIMIT :limit
    """,
)
DELETE_MEMBERS = Query(
    "catalogs.index_forget_members",
    """
    DELETE FROM catalog_member WHERE catalog = :catalog AND resource IN (
        SELECT resource FROM catalog_member WHERE catalog = :catalog ORDER BY resource LIMIT :limit
    ) RETURNING resource
    """,
)
DELETE_CATALOG = Query("catalogs.index_forget_catalog", "DELETE FROM catalog_index WHERE skeleton = :skeleton")
ORPHANS = Query(
    "catalogs.index_orphans",
    """
    -- Resources that no catalog contains any longer, a few at a time.
    SELECT id FROM catalog_resource WHERE id > :after_id
        AND NOT EXISTS (SELECT 1 FROM catalog_member WHERE catalog_member.resource = catalog_resource.id)
    ORDER BY id LIMIT :limit
    """,
)
DELETE_VALUES = Query("catalogs.index_forget_values", "DELETE FROM catalog_value WHERE resource = :resource")
DELETE_RESOURCE = Query("catalogs.index_forget_resource", "DELETE FROM catalog_resource WHERE id = :resource")
