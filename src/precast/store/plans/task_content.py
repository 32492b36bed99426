"""Which content the nodes of a job may read, and what they have collected for it.

A node carries out one attempt at a time, and that attempt has the node's lock. So the lock says for which job a node may read content, and
whether its task is one that collects files. The job has a reference to each content, so garbage collection spares it until the job is
deleted.

A node that names a digest has not shown that it has the content. So a digest from a node's result is allowed to other nodes only if that
node has sent the content for the same job.
"""

from collections.abc import Sequence
from typing import NamedTuple

from precast.base.digests import is_digest
from precast.store.code.blobs import Blobs
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction, json_list
from precast.store.jobs.node_locks import NodeLocks

# References deleted in one statement.
BATCH = 1_000

EXPECT = Query(
    "task_content.expect",
    """
    INSERT INTO task_collection (job, task) SELECT :job, value FROM json_each(:tasks) WHERE true
    ON CONFLICT (job, task) DO NOTHING
    """,
    postgresql="""
    INSERT INTO task_collection (job, task)
    SELECT CAST(:job AS TEXT), CAST(value AS BIGINT)
    FROM jsonb_array_elements_text(CAST(:tasks AS JSONB)) AS named (value)
    ON CONFLICT (job, task) DO NOTHING
    """,
)
EXPECTED = Query(
    "task_content.expected",
    "SELECT 1 FROM task_collection WHERE job = :job AND task = :task",
    postgresql="""
    -- Locks the row until the commit: nodes that send at the same time are counted one after the other.
    SELECT 1 FROM task_collection WHERE job = :job AND task = :task FOR UPDATE
    """,
)
ALLOW = Query(
    "task_content.allow",
    """
    INSERT INTO task_content (job, node, digest) SELECT :job, :node, value FROM json_each(:digests) WHERE true
    ON CONFLICT (job, node, digest) DO NOTHING
    """,
    postgresql="""
    INSERT INTO task_content (job, node, digest)
    SELECT CAST(:job AS TEXT), CAST(:node AS TEXT), value
    FROM jsonb_array_elements_text(CAST(:digests AS JSONB)) AS named (value) ORDER BY value
    ON CONFLICT (job, node, digest) DO NOTHING
    """,
)
ALLOWED = Query(
    "task_content.allowed",
    "SELECT 1 FROM task_content WHERE job = :job AND node IN ('', :node) AND digest = :digest",
)
COLLECTED = Query(
    "task_content.collected",
    """
    SELECT digest FROM task_content
    WHERE job = :job AND node = :node AND size IS NOT NULL AND digest IN (SELECT value FROM json_each(:digests))
    """,
    postgresql="""
    SELECT digest FROM task_content
    WHERE job = :job AND node = :node AND size IS NOT NULL
        AND digest = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
    """,
)
TOTAL = Query(
    "task_content.total",
    """
    -- What was collected for a job, without this content of this node.
    SELECT count(*), CAST(coalesce(sum(size), 0) AS BIGINT),
        CAST(coalesce(sum(CASE WHEN node = :node THEN size END), 0) AS BIGINT)
    FROM task_content WHERE job = :job AND size IS NOT NULL AND NOT (node = :node AND digest = :digest)
    """,
)
NOTE = Query(
    "task_content.note",
    """
    INSERT INTO task_content (job, node, digest, size) VALUES (:job, :node, :digest, :size)
    ON CONFLICT (job, node, digest) DO UPDATE SET size = excluded.size
    """,
)
DELETE = Query("task_content.delete", "DELETE FROM task_content WHERE job = :job")
DELETE_EXPECTED = Query("task_content.delete_expected", "DELETE FROM task_collection WHERE job = :job")


class ContentQuota(NamedTuple):
    """How much the nodes of a job may send for it."""

    job_files: int
    job_bytes: int
    node_bytes: int


def content_owner(job: str) -> str:
    """The owner of a job's references to content."""
    return f"job:{job}"


class TaskContents:
    """The content of the tasks of all jobs."""

    def __init__(self, database: Database) -> None:
        self._blobs = Blobs(database)
        self._locks = NodeLocks(database)

    # What a job allows

    def expect(self, job: str, tasks: Sequence[int]) -> Transaction[None]:
        """Let nodes send content while they carry out one of these tasks."""
        yield EXPECT(job=job, tasks=json_list(tasks))

    def allow(self, job: str, digests: Sequence[str], node: str = "") -> Transaction[None]:
        """Let a node of a job read stored content; all its nodes without a node. The job refers to the content from now on.

        Raises ConflictError STORE-009 if content is not stored.
        """
        yield ALLOW(job=job, node=node, digests=json_list(digests))
        yield from self._blobs.add_references(content_owner(job), digests)

    def allow_collected(
        self, job: str, collector: str, digests: Sequence[str], node: str = "", collected_for: str = ""
    ) -> Transaction[bool]:
        """As `allow`, for content that a node has collected, for this job or another; False, and nothing is allowed, if it has not
        collected all of it."""
        if not all(map(is_digest, digests)):
            return False
        if not (yield from self.has_collected(collected_for or job, collector, digests)):
            return False
        yield from self.allow(job, digests, node)
        return True

    def has_collected(self, job: str, node: str, digests: Sequence[str]) -> Transaction[bool]:
        """Whether a node has sent all of this content for a job, so that it is stored."""
        found = {digest for (digest,) in (yield COLLECTED(job=job, node=node, digests=json_list(digests)))}
        # A transfer that was broken off is noted, and its content may not be stored.
        found &= yield from self._blobs.filter_referenced([content_owner(job)], digests)
        return found == set(digests)

    # What a node may do now

    def is_allowed(self, node: str, digest: str) -> Transaction[bool]:
        """Whether the job that a node carries out a task of allows it this content."""
        holder = yield from self._locks.find_holder(node)
        if holder is None:
            return False
        return bool((yield ALLOWED(job=holder.key.job, node=node, digest=digest)))

    def find_collecting_job(self, node: str) -> Transaction[str | None]:
        """The job for which a node collects files now."""
        holder = yield from self._locks.find_holder(node)
        if holder is None or not (yield EXPECTED(job=holder.key.job, task=holder.key.task)):
            return None
        return holder.key.job

    def note_collected(self, job: str, node: str, digest: str, size: int, quota: ContentQuota) -> Transaction[bool]:
        """Note that a node sends content for a job; False if the job or the node has reached its quota. The same content counts once."""
        ((files, job_bytes, node_bytes),) = yield TOTAL(job=job, node=node, digest=digest)
        if files >= quota.job_files or job_bytes + size > quota.job_bytes or node_bytes + size > quota.node_bytes:
            return False
        yield NOTE(job=job, node=node, digest=digest, size=size)
        return True

    def refer(self, job: str, node: str, digest: str) -> Transaction[bool]:
        """Refer to content that a node has sent for a job; False if the job was deleted meanwhile."""
        if not (yield COLLECTED(job=job, node=node, digests=json_list([digest]))):
            return False
        yield from self._blobs.add_references(content_owner(job), [digest])
        return True

    def delete(self, job: str) -> Transaction[None]:
        """Delete what a job allows, and its references: content that nothing else refers to is collected as garbage."""
        yield DELETE(job=job)
        yield DELETE_EXPECTED(job=job)
        while (yield from self._blobs.delete_references(content_owner(job), BATCH)):
            pass
