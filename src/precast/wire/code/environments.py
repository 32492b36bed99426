"""Bodies of the API about environments and their content."""

from datetime import datetime

import msgspec


class MissingBody(msgspec.Struct, frozen=True):
    """Which of these are not there?"""

    digests: list[str]


class MissingAnswer(msgspec.Struct, frozen=True):
    """These."""

    missing: list[str]


class ReceivedAnswer(msgspec.Struct, frozen=True):
    """How many contents came."""

    count: int


class DeployBody(msgspec.Struct, frozen=True):
    """The tree that shall be current: the digest of its manifest, which is content like its files. `source` says whence, in words."""

    version: str
    source: str = ""
    commit: str | None = None


class RollbackBody(msgspec.Struct, frozen=True):
    """Back to a number, or to the one before the current if it is 0."""

    number: int = 0
    why: str = ""


class ReleasePolicyBody(msgspec.Struct, frozen=True):
    """manual, or automatic: what compiles without an error is released by itself."""

    policy: str


class VersionRow(msgspec.Struct, frozen=True):
    """A version of an environment, as lists show it."""

    environment: str
    number: int
    version: str
    source: str
    commit_id: str | None
    deployed_by: str
    deployed_at: datetime


class EnvironmentRow(msgspec.Struct, frozen=True):
    """An environment as it is now."""

    name: str
    policy: str
    current: VersionRow


class EnvironmentView(msgspec.Struct, frozen=True):
    """An environment with what was current, the newest first."""

    name: str
    policy: str
    current: VersionRow
    files: int
    size: int
    versions: list[VersionRow]


class DeployAnswer(msgspec.Struct, frozen=True):
    """What is current now, whether that is new, and what the owner of the files should know."""

    current: VersionRow
    is_new: bool
    files: int
    checked: int
    warnings: list[str] = []


class FileRow(msgspec.Struct, frozen=True):
    """A file of a version."""

    digest: str
    size: int
    is_executable: bool


class FileChange(msgspec.Struct, frozen=True):
    """How a path differs between two versions; null where there is no file."""

    path: str
    before: FileRow | None
    after: FileRow | None


class DifferenceAnswer(msgspec.Struct, frozen=True):
    """How two versions of an environment differ."""

    before: VersionRow
    after: VersionRow
    changes: list[FileChange]


class HookAnswer(msgspec.Struct, frozen=True):
    """What came of a hook."""

    environment: str
    is_queued: bool
