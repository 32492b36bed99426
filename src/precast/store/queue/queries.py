"""The SQL of the work queue. Only `work` uses it.

`ready_at` is the one column that says whether an item may be claimed: while it waits, the time it is due (or its backoff ends);
while it is claimed, the time the lease ends. An item is held exactly while `owner` is set; a holder proves itself by owner and
fence.
"""

from precast.store.engine.query import Query

ENQUEUE = Query(
    "work.enqueue",
    """
    -- Put the item in, or ask again for the one that is there: then the newest payload counts. While someone holds it
    -- only the next generation is noted. A new item's turn comes right after what is being worked on (if nothing is,
    -- after what waits longest), or some steps after the last of its lane, whichever is later.
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
    -- Nobody wants it any more; whoever holds it finds that it is not theirs.
    DELETE FROM work_item WHERE kind = :kind AND key = :key RETURNING key
    """,
)
ENQUEUE_MANY = Query(
    "work.enqueue_many",
    """
    -- The same for many items of one lane at once, their turns following each other; payloads are texts.
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
    -- How many items of a kind there are, without counting further than anyone needs to know.
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
    -- Lease the first items, in fair order, that wait or whose lease has run out.
    UPDATE work_item SET
        owner = :owner, fence = :fence, claimed_generation = generation, attempts = attempts + 1, ready_at = :lease_until
    WHERE kind = :kind AND key IN (
        SELECT key FROM work_item WHERE kind = :kind AND ready_at <= :now AND fence < :fence
        ORDER BY turn, queued_at, key LIMIT :limit
    )
    RETURNING turn, queued_at, key, lane, payload, generation, attempts, last_error
    """,
    postgresql="""
    -- The same; items that another server is claiming at this moment are passed over, not waited for.
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
    -- A holder goes on, also late, as long as nobody else has claimed the item.
    UPDATE work_item SET ready_at = :lease_until
    WHERE kind = :kind AND key = :key AND owner = :owner AND fence = :fence
    RETURNING key
    """,
)
REMOVE_DONE = Query(
    "work.remove_done",
    """
    -- Done, and nobody has asked for it again in the meantime.
    DELETE FROM work_item
    WHERE kind = :kind AND key = :key AND owner = :owner AND fence = :fence AND generation = claimed_generation
    RETURNING key
    """,
)
REMOVE_MANY_DONE = Query(
    "work.remove_many_done",
    """
    -- The same for many items of one claim.
    DELETE FROM work_item
    WHERE kind = :kind AND key IN (SELECT value FROM json_each(:keys))
      AND owner = :owner AND fence = :fence AND generation = claimed_generation
    RETURNING key
    """,
    postgresql="""
    -- All of them are held first, in the order in which they are given: whoever asks for them keeps to the same, so the two never
    -- wait in a circle.
    WITH held AS MATERIALIZED (
        SELECT found.key FROM jsonb_array_elements_text(CAST(:keys AS JSONB)) AS keys (value),
            LATERAL (SELECT key FROM work_item WHERE kind = :kind AND key = value FOR UPDATE) AS found
    )
    DELETE FROM work_item USING held
    WHERE kind = :kind AND work_item.key = held.key
      AND owner = :owner AND fence = :fence AND generation = claimed_generation
    RETURNING work_item.key
    """,
)
WAIT_AGAIN = Query(
    "work.wait_again",
    """
    -- Done, but asked for again while it was held: the next generation waits, as the next of its lane would.
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
    -- Failed with tries left, or asked for again while it was held: then the newer payload starts counting from none.
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
    -- Not done and not failed: the try is not counted.
    UPDATE work_item SET owner = NULL, claimed_generation = NULL, attempts = attempts - 1, ready_at = due_at
    WHERE kind = :kind AND key = :key AND owner = :owner AND fence = :fence
    RETURNING key
    """,
)
PUT_OFF = Query(
    "work.put_off",
    """
    -- Out of tries, but there is no room among the dead letters: it stays, with one more try, at the slowest pace.
    UPDATE work_item SET
        owner = NULL, claimed_generation = NULL, last_error = :error, ready_at = :retry_at, attempts = :max_attempts - 1
    WHERE kind = :kind AND key = :key AND owner = :owner AND fence = :fence
    RETURNING key
    """,
)
BURY = Query(
    "work.bury",
    """
    -- Copy an item that is out of tries to the dead letters, if there is room; a newer death replaces an older one.
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
FORGET_DEAD = Query(
    "work.forget_dead",
    """
    -- A dead letter that is settled: requeued, or overtaken by a later success of the same item.
    DELETE FROM work_dead WHERE kind = :kind AND key = :key RETURNING lane, payload
    """,
)
FORGET_MANY_DEAD = Query(
    "work.forget_many_dead",
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
    -- Those among these that wait or are held, and whether somebody could take them up now, or has.
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
    -- Those among these that were given up, and that nobody has asked for since.
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
    -- One row a kind. Reads every item: for people and metrics, not for the way of the work.
    SELECT kind, count(*) - count(owner), count(owner), min(queued_at), 0 FROM work_item GROUP BY kind
    UNION ALL
    SELECT kind, 0, 0, NULL, count(*) FROM work_dead GROUP BY kind
    """,
)
