"""The state of a site in one answer."""

from datetime import datetime

import msgspec

from precast.wire.nodes.presence import ServerRow


class DatabaseStatus(msgspec.Struct, frozen=True):
    """The database as this server sees it."""

    kind: str
    location: str  # without any password
    schema: int
    answer_s: float  # how long it took to answer
    replicas: int
    behind_s: float | None  # how far the slowest replica is behind, as far as it is known


class QueueStatus(msgspec.Struct, frozen=True):
    """One kind of work."""

    kind: str
    waiting: int
    held: int
    dead: int
    oldest_at: datetime | None


class DiskStatus(msgspec.Struct, frozen=True):
    """The room where the server keeps its data."""

    path: str
    free_bytes: int
    size_bytes: int


class Remark(msgspec.Struct, frozen=True):
    """Something that needs attention: a warning, or broken."""

    level: str
    text: str
    hint: str


class StatusView(msgspec.Struct, frozen=True):
    """Everything worth knowing at a glance."""

    version: str
    started_at: datetime
    now: datetime
    database: DatabaseStatus
    nodes: dict[str, int]  # by state; away are all active ones that are not connected
    servers: list[ServerRow]
    queues: list[QueueStatus]
    authority_until: datetime
    disk: DiskStatus
    remarks: list[Remark]
    unanswered: int = 0  # nodes that the external classifier could not be asked about the last time
