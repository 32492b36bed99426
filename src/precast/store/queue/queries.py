"""The SQL of the work queue. Only `queue` uses it.

The column `ready_at` alone says when an item may be claimed: while it waits, that is the time it is due or its backoff ends; while it
is claimed, the time the lease ends. An item is claimed exactly while `owner` is set; a worker proves its claim by owner and fence.
"""

from precast.store.engine.query import Query

ENQUEUE = Query(
    "work.enqueue",
    """
    -- Adds the item, or updates the existing one with the newest payload. While it is claimed, this only starts the next
    -- generation. The turn of a new item is right after the claimed items (without any, after the first waiting one), or some
    -- steps after the last of its lane, whichever is later.
    INSERT INTO work_item
        (kind, key, lane, payload, generation, turn, due_at, ready_at, queued_at, attempts, fence)
    VALUES (
        :kind, :key, :lane, :payload, 1,
        (SELECT max(turn) FROM (
            SELECT 1 + COALESCE(
                (SELECT max(turn) FROM work_item WHERE kind = :kind AND owner IS NOT NULL),
                (SELECT min(turn) FROM work_item WHERE kind = :kind),
                0
            ) AS turn
            UNION ALL
            SELECT :steps + (SELECT max(turn) FROM work_item WHERE kind = :kind AND lane = :lane)
        ) AS turns),
        :due_at, :due_at, :now, 0, 0
    )
    ON CONFLICT (kind, key) DO UPDATE SET
        payload = excluded.payload,
        generation = work_item.generation + 1,
        due_at = CASE WHEN work_item.owner IS NULL AND work_item.due_at < excluded.due_at
                      THEN work_item.due_at ELSE excluded.due_at END,
        ready_at = CASE WHEN work_item.owner IS NULL AND excluded.due_at < work_item.ready_at
                        THEN excluded.due_at ELSE work_item.ready_at END,
        attempts = CASE WHEN work_item.owner IS NULL THEN 0 ELSE work_item.attempts END
    RETURNING generation
    """,
)
DROP = Query(
    "work.drop",
    """
    -- The item is no longer needed; a worker that has claimed it finds that it has lost the claim.
    DELETE FROM work_item WHERE kind = :kind AND key = :key RETURNING key
    """,
)
ENQUEUE_MANY = Query(
    "work.enqueue_many",
    """
    -- As work.enqueue for many items of one lane, with consecutive turns; payloads are texts.
    INSERT INTO work_item
        (kind, key, lane, payload, generation, turn, due_at, ready_at, queued_at, attempts, fence)
    SELECT
        :kind, json_extract(item.value, '$[0]'), :lane, CAST(json_extract(item.value, '$[1]') AS BLOB), 1,
        (SELECT max(turn) FROM (
            SELECT 1 + COALESCE(
                (SELECT max(turn) FROM work_item WHERE kind = :kind AND owner IS NOT NULL),
                (SELECT min(turn) FROM work_item WHERE kind = :kind),
                0
            ) AS turn
            UNION ALL
            SELECT :steps + (SELECT max(turn) FROM work_item WHERE kind = :kind AND lane = :lane)
        ) AS turns) + :steps * item.key,
        json_extract(item.value, '$[2]'), json_extract(item.value, '$[2]'), :now, 0, 0
    FROM json_each(:items) AS item WHERE true
    ON CONFLICT (kind, key) DO UPDATE SET
        payload = excluded.payload,
        generation = work_item.generation + 1,
        due_at = CASE WHEN work_item.owner IS NULL AND work_item.due_at < excluded.due_at
                      THEN work_item.due_at ELSE excluded.due_at END,
        ready_at = CASE WHEN work_item.owner IS NULL AND excluded.due_at < work_item.ready_at
                        THEN excluded.due_at ELSE work_item.ready_at END,
        attempts = CASE WHEN work_item.owner IS NULL THEN 0 ELSE work_item.attempts END
    RETURNING generation
    """,
    postgresql="""
    INSERT INTO work_item
        (kind, key, lane, payload, generation, turn, due_at, ready_at, queued_at, attempts, fence)
    SELECT
        :kind, item.value ->> 0, :lane, convert_to(item.value ->> 1, 'UTF8'), 1,
        (SELECT max(turn) FROM (
            SELECT 1 + COALESCE(
                (SELECT max(turn) FROM work_item WHERE kind = :kind AND owner IS NOT NULL),
                (SELECT min(turn) FROM work_item WHERE kind = :kind),
                0
            ) AS turn
            UNION ALL
            SELECT :steps + (SELECT max(turn) FROM work_item WHERE kind = :kind AND lane = :lane)
        ) AS turns) + CAST(:steps AS BIGINT) * (item.at - 1),
        CAST(item.value ->> 2 AS BIGINT), CAST(item.value ->> 2 AS BIGINT), :now, 0, 0
    FROM jsonb_array_elements(CAST(:items AS JSONB)) WITH ORDINALITY AS item (value, at)
    ON CONFLICT (kind, key) DO UPDATE SET
        payload = excluded.payload,
        generation = work_item.generation + 1,
        due_at = CASE WHEN work_item.owner IS NULL AND work_item.due_at < excluded.due_at
                      THEN work_item.due_at ELSE excluded.due_at END,
        ready_at = CASE WHEN work_item.owner IS NULL AND excluded.due_at < work_item.ready_at
                        THEN excluded.due_at ELSE work_item.ready_at END,
        attempts = CASE WHEN work_item.owner IS NULL THEN 0 ELSE work_item.attempts END
    RETURNING generation
    """,
)
COUNT_KNOWN = Query(
    "work.count_known",
    """
    SELECT count(*) FROM work_item
    WHERE kind = :kind AND key IN (SELECT value FROM json_each(:keys))
    """,
    postgresql="""
    SELECT count(*) FROM work_item
    WHERE kind = :kind AND key = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:keys AS JSONB))))
    """,
)
EXISTS = Query("work.exists", "SELECT 1 FROM work_item WHERE kind = :kind AND key = :key")
COUNT_UP_TO = Query(
    "work.count_up_to",
    """
    -- How many items of a kind there are, counted only up to the limit.
    SELECT count(*) FROM (SELECT 1 FROM work_item WHERE kind = :kind LIMIT :limit) AS counted
    """,
)
NEXT_FENCE = Query(
    "work.next_fence",
    "UPDATE work_fence SET last = last + 1 RETURNING last",
    postgresql="SELECT nextval('work_fence')",
)
CLAIM = Query(
    "work.claim",
    """
    -- Leases the first items, in fair order, that wait or whose lease has expired.
    UPDATE work_item SET
        owner = :owner, fence = :fence, claimed_generation = generation, attempts = attempts + 1, ready_at = :lease_until
    WHERE kind = :kind AND key IN (
        SELECT key FROM work_item WHERE kind = :kind AND ready_at <= :now AND fence < :fence
        ORDER BY turn, queued_at, key LIMIT :limit
    )
    RETURNING turn, queued_at, key, lane, payload, generation, attempts, last_error
    """,
    postgresql="""
    -- Skips items that another server is claiming right now.
    WITH next AS MATERIALIZED (
        SELECT key FROM work_item WHERE kind = :kind AND ready_at <= :now AND fence < :fence
        ORDER BY turn, queued_at, key LIMIT :limit
        FOR UPDATE SKIP LOCKED
    )
    UPDATE work_item SET
        owner = :owner, fence = :fence, claimed_generation = generation, attempts = attempts + 1, ready_at = :lease_until
    FROM next
    WHERE work_item.kind = :kind AND work_item.key = next.key
    RETURNING turn, queued_at, work_item.key, lane, payload, generation, attempts, last_error
    """,
)
EXTEND = Query(
    "work.extend",
    """
    -- A worker may extend its lease even after it expired, as long as no other worker has claimed the item.
    UPDATE work_item SET ready_at = :lease_until
    WHERE kind = :kind AND key = :key AND owner = :owner AND fence = :fence
    RETURNING key
    """,
)
REMOVE_DONE = Query(
    "work.remove_done",
    """
    -- Done, and not enqueued again in the meantime.
    DELETE FROM work_item
    WHERE kind = :kind AND key = :key AND owner = :owner AND fence = :fence AND generation = claimed_generation
    RETURNING key
    """,
)
REMOVE_MANY_DONE = Query(
    "work.remove_many_done",
    """
    -- As work.remove_done for many items of one claim.
    DELETE FROM work_item
    WHERE kind = :kind AND key IN (SELECT value FROM json_each(:keys))
      AND owner = :owner AND fence = :fence AND generation = claimed_generation
    RETURNING key
    """,
    postgresql="""
    -- Locks all of them first, in the given order. Transactions that enqueue them lock in the same order, so the two cannot
    -- deadlock.
    WITH locked AS MATERIALIZED (
        SELECT item.key FROM jsonb_array_elements_text(CAST(:keys AS JSONB)) AS keys (value),
            LATERAL (SELECT key FROM work_item WHERE kind = :kind AND key = value FOR UPDATE) AS item
    )
    DELETE FROM work_item USING locked
    WHERE kind = :kind AND work_item.key = locked.key
      AND owner = :owner AND fence = :fence AND generation = claimed_generation
    RETURNING work_item.key
    """,
)
WAIT_AGAIN = Query(
    "work.wait_again",
    """
    -- Done, but enqueued again while it was claimed: the next generation waits like the next item of its lane.
    UPDATE work_item SET
        owner = NULL, claimed_generation = NULL, attempts = 0, last_error = NULL, queued_at = :now, ready_at = due_at,
        turn = turn + :steps
    WHERE kind = :kind AND key = :key AND owner = :owner AND fence = :fence
    RETURNING key
    """,
)
RETRY = Query(
    "work.retry",
    """
    -- Failed with attempts left; or enqueued again while it was claimed, which resets the number of attempts.
    UPDATE work_item SET
        owner = NULL, claimed_generation = NULL, last_error = :error,
        attempts = CASE WHEN generation = claimed_generation THEN attempts ELSE 0 END,
        ready_at = CASE WHEN due_at > :retry_at THEN due_at ELSE :retry_at END
    WHERE kind = :kind AND key = :key AND owner = :owner AND fence = :fence
      AND (attempts < :max_attempts OR generation <> claimed_generation)
    RETURNING key
    """,
)
GIVE_BACK = Query(
    "work.give_back",
    """
    -- Neither done nor failed: the attempt is not counted.
    UPDATE work_item SET owner = NULL, claimed_generation = NULL, attempts = attempts - 1, ready_at = due_at
    WHERE kind = :kind AND key = :key AND owner = :owner AND fence = :fence
    RETURNING key
    """,
)
PUT_OFF = Query(
    "work.put_off",
    """
    -- No attempts left, but there are too many dead letters: the item stays with one more attempt, at the slowest rate.
    UPDATE work_item SET
        owner = NULL, claimed_generation = NULL, last_error = :error, ready_at = :retry_at, attempts = :max_attempts - 1
    WHERE kind = :kind AND key = :key AND owner = :owner AND fence = :fence
    RETURNING key
    """,
)
BURY = Query(
    "work.bury",
    """
    -- Copies an item without attempts left to the dead letters, if there is room; it replaces an older letter of the same key.
    INSERT INTO work_dead (kind, key, lane, payload, attempts, last_error, queued_at, died_at)
    SELECT kind, key, lane, payload, attempts, CAST(:error AS TEXT), queued_at, CAST(:now AS BIGINT) FROM work_item
    WHERE kind = :kind AND key = :key AND owner = :owner AND fence = :fence
      AND (SELECT count(*) FROM work_dead WHERE kind = :kind AND key <> :key) < :max_dead
    ON CONFLICT (kind, key) DO UPDATE SET
        lane = excluded.lane, payload = excluded.payload, attempts = excluded.attempts,
        last_error = excluded.last_error, queued_at = excluded.queued_at, died_at = excluded.died_at
    RETURNING key
    """,
)
REMOVE_HELD = Query(
    "work.remove_held",
    """
    DELETE FROM work_item WHERE kind = :kind AND key = :key AND owner = :owner AND fence = :fence RETURNING key
    """,
)
DELETE_DEAD = Query(
    "work.delete_dead",
    """
    -- A dead letter that is obsolete: requeued, or followed by a success of the same item.
    DELETE FROM work_dead WHERE kind = :kind AND key = :key RETURNING lane, payload
    """,
)
DELETE_MANY_DEAD = Query(
    "work.delete_many_dead",
    """
    DELETE FROM work_dead WHERE kind = :kind AND key IN (SELECT value FROM json_each(:keys))
    """,
    postgresql="""
    DELETE FROM work_dead
    WHERE kind = :kind AND key = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:keys AS JSONB))))
    """,
)
DEAD = Query(
    "work.dead",
    """
    SELECT kind, key, lane, payload, attempts, last_error, queued_at, died_at FROM work_dead
    WHERE (kind, key) > (:after_kind, :after_key) ORDER BY kind, key LIMIT :limit
    """,
)
ITEMS = Query(
    "work.items",
    """
    SELECT kind, key, lane, attempts, queued_at, ready_at, owner, last_error FROM work_item
    WHERE (kind, key) > (:after_kind, :after_key) ORDER BY kind, key LIMIT :limit
    """,
)
FIND = Query(
    "work.find",
    """
    SELECT kind, key, lane, attempts, queued_at, ready_at, owner, last_error FROM work_item WHERE kind = :kind AND key = :key
    """,
)
FIND_AMONG = Query(
    "work.find_among",
    """
    -- Those of the keys that are in the queue, and whether each is claimable now or claimed.
    SELECT key, owner IS NOT NULL OR ready_at <= :now FROM work_item
    WHERE kind = :kind AND key IN (SELECT value FROM json_each(:keys))
    """,
    postgresql="""
    SELECT key, owner IS NOT NULL OR ready_at <= :now FROM work_item
    WHERE kind = :kind AND key = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:keys AS JSONB))))
    """,
)
FIND_DEAD_AMONG = Query(
    "work.find_dead_among",
    """
    -- Those of the keys that are dead letters and were not enqueued since.
    SELECT key FROM work_dead AS dead WHERE kind = :kind AND key IN (SELECT value FROM json_each(:keys))
        AND NOT EXISTS (SELECT 1 FROM work_item AS item WHERE item.kind = dead.kind AND item.key = dead.key)
    """,
    postgresql="""
    SELECT key FROM work_dead AS dead
    WHERE kind = :kind AND key = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:keys AS JSONB))))
        AND NOT EXISTS (SELECT 1 FROM work_item AS item WHERE item.kind = dead.kind AND item.key = dead.key)
    """,
)
FIND_DEAD = Query(
    "work.find_dead",
    """
    SELECT kind, key, lane, payload, attempts, last_error, queued_at, died_at FROM work_dead
    WHERE kind = :kind AND key = :key
    """,
)
COUNTS = Query(
    "work.counts",
    """
    -- One row for each kind. Reads every item: for operators and metrics, not for the hot path. An item waits from when it is due.
    SELECT kind, count(*) - count(owner), count(owner), min(CASE WHEN due_at > queued_at THEN due_at ELSE queued_at END), 0
    FROM work_item GROUP BY kind
    UNION ALL
    SELECT kind, 0, 0, NULL, count(*) FROM work_dead GROUP BY kind
    """,
)
