"""Gives nodes the content of their tasks, and stores what they collect.

A node is given content only while it carries out a task of a job that allows it this content; content that is not stored, and content that
is not allowed, are reported alike. What a node sends is spooled and verified before it is counted, and counted before it is stored, so that
no node can fill the database with content that no job refers to.
"""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from precast.base import digests
from precast.services.code import issues as code_issues
from precast.services.code.spooled_content import spooled, store_file
from precast.services.plans import issues_content as issues
from precast.store.code.blobs import Blobs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import Attempts
from precast.store.plans.task_content import ContentQuota, TaskContents
from precast.wire.jobs.views import StepResult
from precast.wire.plans.task_content import (
    MAX_CONTENT_BYTES,
    MAX_JOB_BYTES,
    MAX_JOB_FILES,
    MAX_NODE_BYTES,
    CollectedFile,
    StoredContent,
)

QUOTA = ContentQuota(MAX_JOB_FILES, MAX_JOB_BYTES, MAX_NODE_BYTES)
# Stored content that nothing refers to and that is older than this could be deleted before the job refers to it.
_SAFE_AGE = timedelta(hours=1)


class SentContent(NamedTuple):
    """What a node has sent for a job: its whole output of a task, or the file that the task has collected from a path."""

    job: str
    task: int
    node: str
    path: str = ""


class TaskContentService:
    """Reads and stores content of tasks; holds no state between calls."""

    def __init__(
        self, database: Database, contents: TaskContents, attempts: Attempts, blobs: Blobs, spool: Path
    ) -> None:
        self._database, self._contents, self._blobs, self._spool = database, contents, blobs, spool
        self._attempts = attempts

    async def find_size(self, node: str, digest: str) -> int:
        """The size of content that a node may read now. Raises NotFoundError ENV-013 for any other."""
        size = await self._database.read(self._find_size, node, digest) if digests.is_digest(digest) else None
        if size is None:
            raise code_issues.NO_CONTENT.error()
        return size

    async def find_sent(self, sent: SentContent) -> StoredContent:
        """What a node has sent for a job, for a person. Raises NotFoundError PLAN-192."""
        return await self._database.read(self._find_sent, sent)

    def _find_sent(self, sent: SentContent) -> Transaction[StoredContent]:
        what = sent.path or "the whole output"
        missing = issues.NOT_STORED.error
        step = yield from self._attempts.find_step(sent.job, sent.task, sent.node)
        if step is None or step.result is None:
            reason = "the run has no such step" if step is None else f"it is {step.state} and has returned nothing"
            raise missing(what=what, node=sent.node, run=sent.job[:80], reason=reason)
        digest, reason = _find_digest(msgspec.json.decode(step.result, type=StepResult), sent.path)
        if digest and (yield from self._contents.has_collected(sent.job, sent.node, [digest])):
            size = (yield from self._blobs.find_sizes([digest])).get(digest)
            if size is not None:
                return StoredContent(digest, size)
        raise missing(what=what, node=sent.node, run=sent.job[:80], reason=reason or "the node has not sent it")

    def _find_size(self, node: str, digest: str) -> Transaction[int | None]:
        if not (yield from self._contents.is_allowed(node, digest)):
            return None
        return (yield from self._blobs.find_sizes([digest])).get(digest)

    async def receive(self, node: str, digest: str, length: int | None, parts: AsyncIterator[bytes]) -> StoredContent:
        """Store content that a task on a node collects. `length` is what the node has announced, if it has.

        Raises ConflictError PLAN-190 if no task collects there, PLAN-191 if it is too much; InputError ENV-010 for another digest, ENV-011
        if it is too large, ENV-012 if it is incomplete; UnavailableError ENV-015. Cancelling leaves it stored completely or not at all.
        """
        if not digests.is_digest(digest):
            raise code_issues.BAD_DIGESTS.error(limit=1)
        await self._database.write(self._check, node)
        if length is not None and length > MAX_CONTENT_BYTES:
            raise code_issues.CONTENT_TOO_LARGE.error(limit=MAX_CONTENT_BYTES)
        async with spooled(_bounded(parts), digest, self._spool) as file:
            size = file.seek(0, 2)
            file.seek(0)
            job = await self._database.write(self._reserve, node, digest, size)
            await store_file(self._database, self._blobs, digest, size, file)
        if not await self._database.write(self._contents.refer, job, node, digest):
            raise issues.NOT_COLLECTING.error(node=node)
        return StoredContent(digest, size)

    def _check(self, node: str) -> Transaction[str]:
        job = yield from self._contents.find_collecting_job(node)
        if job is None:
            raise issues.NOT_COLLECTING.error(node=node)
        return job

    def _reserve(self, node: str, digest: str, size: int) -> Transaction[str]:
        """Count content for the job that collects it, and keep what is stored of it."""
        job = yield from self._check(node)
        if not (yield from self._contents.note_collected(job, node, digest, size, QUOTA)):
            limits = {"node_bytes": QUOTA.node_bytes, "job_bytes": QUOTA.job_bytes, "files": QUOTA.job_files}
            raise issues.QUOTA_REACHED.error(node=node, size=size, **limits)
        yield from self._blobs.touch([digest], self._database.clock.now() - _SAFE_AGE)
        return job


def _find_digest(result: StepResult, path: str) -> tuple[str, str]:
    """The digest of the whole output, or of a collected file; or why there is none."""
    if path:
        try:
            collected = msgspec.json.decode(result.returned or "{}", type=dict[str, CollectedFile])
        except (msgspec.MsgspecError, UnicodeError):
            collected = {}
        return (collected[path].digest, "") if path in collected else ("", "the task has not collected such a file")
    if result.output is None:
        return "", "the run has all of it as lines, as `watch` shows them"
    return result.output.digest, result.output.error


async def _bounded(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The parts, until there are too many bytes. Raises InputError ENV-011."""
    received = 0
    async for part in parts:
        received += len(part)
        if received > MAX_CONTENT_BYTES:
            raise code_issues.CONTENT_TOO_LARGE.error(limit=MAX_CONTENT_BYTES)
        yield part
