"""What the daemon and its children note in the local store, for each other and for `precast agent status`."""

from datetime import datetime

import msgspec


class DaemonNote(msgspec.Struct, frozen=True):
    """The daemon that runs, or ran last."""

    pid: int
    version: str
    started_at: datetime


class LinkNote(msgspec.Struct, frozen=True):
    """The connection: where and since when, or why not and when it is tried again."""

    url: str
    is_connected: bool
    since: datetime
    epoch: int = 0
    server: str = ""
    trouble: str = ""
    next_try_at: datetime | None = None


class CertificateNote(msgspec.Struct, frozen=True):
    """The certificate as it was last looked at: for whom, until when, and when the next is due."""

    name: str
    not_after: datetime
    due_at: datetime
    trouble: str = ""


class FactsNote(msgspec.Struct, frozen=True):
    """The facts as they were collected last."""

    collected_at: datetime
    digest: str
    warnings: int


class RunNote(msgspec.Struct, frozen=True):
    """The run that ended last: of which catalog, and what came of it."""

    ended_at: datetime
    catalog: str
    is_noop: bool
    changed: int
    failed: int
    skipped: int
    waiting: int
    resources: int
    seconds: float


class KeptRunNote(msgspec.Struct, frozen=True):
    """The last run of the whole catalog that is kept here, to its end."""

    digest: str
    ended_at: datetime
    is_noop: bool
    reason: str
    enforced_at: datetime | None = None  # when the last one that may change things ended


class PolicyNote(msgspec.Struct, frozen=True):
    """What the policy that is kept here says, and why another one was not taken."""

    serial: int = 0
    enforce: str = "never"
    windows: list[str] = []
    expires_at: datetime | None = None
    trouble: str = ""


class FetchNote(msgspec.Struct, frozen=True):
    """What was fetched last, and when a server last confirmed it; what went wrong since then, if something did."""

    digest: str = ""
    environment: str = ""
    version: str = ""  # of the environment
    release: int = 0
    policy: int = 0  # serial
    checked_at: datetime | None = None
    trouble: str = ""
    failed_at: datetime | None = None


class FactsPlan(msgspec.Struct, frozen=True):
    """When facts are collected next, and what went wrong the last time."""

    next_at: datetime
    trouble: str = ""
