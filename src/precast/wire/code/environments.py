"""Bodies of the API about environments and their content."""

from datetime import datetime
from typing import Literal

import msgspec


class MissingBody(msgspec.Struct, frozen=True):
    """Digests of contents, to ask which of them the server does not have."""

    digests: list[str]


class MissingAnswer(msgspec.Struct, frozen=True):
    """The digests that the server does not have."""

    missing: list[str]


class ReceivedAnswer(msgspec.Struct, frozen=True):
    """How many contents the server received."""

    count: int


class DeployBody(msgspec.Struct, frozen=True):
    """The file tree to make current: `version` is the digest of its manifest, which is content like its files; `source` says where it
    comes from, in words."""

    version: str
    source: str = ""
    commit: str | None = None


class VersionRollback(msgspec.Struct, frozen=True):
    """Roll back to a number; 0 means the version before the current one."""

    number: int = 0
    why: str = ""


class ReleasePolicyBody(msgspec.Struct, frozen=True):
    """manual, or automatic: catalogs that compile without an error are released at once."""

    policy: str


class RequiredApprovalsBody(msgspec.Struct, frozen=True):
    """How many other people must approve a release, or an action that changes nodes; 0 means none."""

    count: int
    subject: Literal["releases", "actions"] = "releases"


class VersionRow(msgspec.Struct, frozen=True):
    """A version of an environment, as lists show it."""

    environment: str
    number: int
    version: str
    source: str
    commit_id: str | None
    deployed_by: str
    deployed_at: datetime
    signer: str | None = None  # who signed its commit or tag, if that was required
    signing_key: str | None = None


class EnvironmentRow(msgspec.Struct, frozen=True):
    """An environment as it is now."""

    name: str
    policy: str
    current: VersionRow
    release_approvals: int = 0
    action_approvals: int = 0


class EnvironmentView(msgspec.Struct, frozen=True):
    """An environment with its versions, the newest first."""

    name: str
    policy: str
    current: VersionRow
    files: int
    size: int
    versions: list[VersionRow]
    release_approvals: int = 0
    action_approvals: int = 0


class DeployAnswer(msgspec.Struct, frozen=True):
    """The current version after a deployment, whether it is new, and warnings for the author of the files."""

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
    """How a path differs between two versions; null where the file does not exist."""

    path: str
    before: FileRow | None
    after: FileRow | None


class DifferenceAnswer(msgspec.Struct, frozen=True):
    """How two versions of an environment differ."""

    before: VersionRow
    after: VersionRow
    changes: list[FileChange]


class HookAnswer(msgspec.Struct, frozen=True):
    """The outcome of a hook: the environment, and whether a deployment was queued."""

    environment: str
    is_queued: bool
