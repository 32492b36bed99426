"""Notes that the daemon and its child processes write into the local store, for each other and for `precast agent status`.

The store keeps the newest note of each type.
"""

from datetime import datetime

import msgspec


class DaemonNote(msgspec.Struct, frozen=True):
    """The daemon that is running, or that ran last."""

    pid: int
    version: str
    started_at: datetime


class ConnectionNote(msgspec.Struct, frozen=True):
    """The connection: to which server and since when, or why there is none and when the next attempt is due."""

    url: str
    is_connected: bool
    since: datetime
    epoch: int = 0
    server: str = ""
    trouble: str = ""
    next_try_at: datetime | None = None


class NetworkNote(msgspec.Struct, frozen=True):
    """The process that talks to servers, as it was started last: its user, and which measures of its confinement this system lacks."""

    uid: int
    lacks: list[str]


class CertificateNote(msgspec.Struct, frozen=True):
    """The certificate as it was last checked: its name, when it expires, and when it is due for renewal."""

    name: str
    not_after: datetime
    due_at: datetime
    trouble: str = ""
    is_clock_wrong: bool = False  # it was just issued, and is not valid by this machine's clock


class FactsNote(msgspec.Struct, frozen=True):
    """The last collection of facts."""

    collected_at: datetime
    digest: str
    warnings: int
    allows_commands: bool = False  # as these facts say


class RunNote(msgspec.Struct, frozen=True):
    """The run that ended last: its catalog and its counts."""

    ended_at: datetime
    catalog: str
    is_noop: bool
    changed: int
    failed: int
    skipped: int
    waiting: int
    resources: int
    seconds: float


class CatalogRunNote(msgspec.Struct, frozen=True):
    """The last complete run of the whole cached catalog."""

    digest: str
    ended_at: datetime
    is_noop: bool
    reason: str
    enforced_at: datetime | None = None  # when the last run that was allowed to enforce ended


class PolicyNote(msgspec.Struct, frozen=True):
    """The content of the cached policy, and why a newer one was refused."""

    serial: int = 0
    enforce: str = "never"
    windows: list[str] = []
    expires_at: datetime | None = None
    trouble: str = ""


class FetchNote(msgspec.Struct, frozen=True):
    """What was fetched last, when a server last confirmed it, and what has failed since then."""

    digest: str = ""
    environment: str = ""
    version: str = ""  # of the environment
    release: int = 0
    policy: int = 0  # serial
    checked_at: datetime | None = None
    trouble: str = ""
    failed_at: datetime | None = None


class FactsScheduleNote(msgspec.Struct, frozen=True):
    """When facts are collected next, and why the last collection failed."""

    next_at: datetime
    trouble: str = ""
