"""The body of the API that shows the state of a site."""

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
    behind_s: float | None  # the lag of the slowest replica, if it is known


class QueueStatus(msgspec.Struct, frozen=True):
    """One kind of work."""

    kind: str
    waiting: int
    held: int
    dead: int
    oldest_at: datetime | None


class DiskStatus(msgspec.Struct, frozen=True):
    """The disk of the directory in which the server stores its data."""

    path: str
    free_bytes: int
    size_bytes: int


class ClockTrouble(msgspec.Struct, frozen=True):
    """Why the clock is not trusted, and what to do."""

    text: str
    hint: str


# The level of a finding that a healthy site may have.
NOTE = "note"


class Problem(msgspec.Struct, frozen=True):
    """A finding. `level` is note, warning (it needs attention) or broken."""

    level: str
    text: str
    hint: str


class StatusView(msgspec.Struct, frozen=True):
    """The state of a site at a glance."""

    version: str
    started_at: datetime
    now: datetime
    database: DatabaseStatus
    nodes: dict[str, int]  # by state; active nodes that are not connected count as away
    servers: list[ServerRow]
    queues: list[QueueStatus]
    authority_until: datetime
    disk: DiskStatus
    problems: list[Problem]
    unanswered: int = 0  # nodes that the external classifier could not be asked about the last time
    failing: list[str] = []  # nodes whose newest finished run failed; the first ones
    signer_trouble: str = ""  # why the signer does not answer
    held: list[str] = []  # nodes on hold, because several machines use their certificate; the first ones
    code_errors: int = 0  # nodes whose code gives an error, so that no catalog can be staged
    flawed_catalogs: int = 0  # nodes whose staged catalog has problems that a run would meet
    export_loops: int = 0  # nodes whose catalogs are held back because their exports are part of a loop
    unread_source_documents: int = 0  # documents of secret sources that could not be read when they were last asked for
    clock: ClockTrouble | None = None  # set while this server does not trust the clock: then nothing is deleted by age
