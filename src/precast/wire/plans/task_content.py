"""Content of tasks: files that one node has collected and others copy, and files of the environment that a task runs.

A node sends and fetches such content by its digest, over requests of its own. It may fetch only what the job allows it that it carries out
a task of, and send only while one of its tasks collects files or runs commands, whose output may be too large for lines.
"""

from typing import Annotated

import msgspec

MAX_CONTENT_BYTES = 64 * 1024 * 1024
# What one node may send for a job, and what all nodes together may send for it.
MAX_NODE_BYTES = 256 * 1024 * 1024
MAX_JOB_BYTES = 2 * 1024 * 1024 * 1024
MAX_JOB_FILES = 20_000

PATH = "/v1/agent/task-content"


def content_path(digest: str) -> str:
    """The path of a content's route."""
    return f"{PATH}/{digest}"


class CollectedFile(msgspec.Struct, frozen=True):
    """A file that a node has collected, as it is in the result of the task, by its path."""

    digest: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    mode: Annotated[str, msgspec.Meta(pattern=r"\A0[0-7]{3}\Z")]
    size: Annotated[int, msgspec.Meta(ge=0, le=MAX_CONTENT_BYTES)]


class StoredContent(msgspec.Struct, frozen=True):
    """The server has stored content."""

    digest: str
    size: int
