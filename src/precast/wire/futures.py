"""What nodes and servers say about futures: values that one node produces and others wait for.

A node sends numbered records, so nothing it promises is lost: `promised`, `unpromised`, and which values its resources wait for and were
given. The values come as messages of the session (`Subscribe`, `Values` in `wire.sessions`), which may be lost: a node subscribes again
whenever it has a new session, and is sent every state again. The bodies of the API for people follow at the end.
"""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from precast.wire.reports.records import ReportId
from precast.wire.sessions import FutureKey, Identifier, OrderName, RecordNumber, Seconds

# Kinds of records from a node.
PROMISED = "promised"
UNPROMISED = "unpromised"
WAITING = "future-waiting"
BOUND = "future-bound"

# A value as JSON.
MAX_VALUE_BYTES = 65_536
# How many keys a catalog may need, and may promise.
MAX_KEYS = 1_000
# How many nodes may promise a key that one resource needs.
MAX_PRODUCERS = 20_000

Digest = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Text = Annotated[str, msgspec.Meta(max_length=2_000)]


class Promised(msgspec.Struct, frozen=True, omit_defaults=True):
    """A node has reached a promise, and its value is this. Kind `promised`.

    `order` is the attempt that the run belongs to; empty for a run outside of jobs. `fence` is the number of the node's lease of the run: a
    later run has a higher one.
    """

    report: ReportId
    catalog: Digest
    key: FutureKey
    value: msgspec.Raw
    fence: RecordNumber
    at: datetime
    instance: Identifier
    order: OrderName = ""
    is_sensitive: bool = False
    ttl_s: Seconds | None = None


class Unpromised(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run of a job will not fulfil a promise: its resource failed, was skipped or left out, or the run is a no-op. Kind `unpromised`."""

    order: OrderName
    catalog: Digest
    key: FutureKey
    reason: Text
    at: datetime


class Wait(msgspec.Struct, frozen=True):
    """A resource waits for a key; in `timeout_s` seconds it fails."""

    resource: Text
    key: FutureKey
    timeout_s: Seconds


class Waiting(msgspec.Struct, frozen=True, omit_defaults=True):
    """All resources of a run of a job that wait now; it replaces what the run said before. Kind `future-waiting`.

    `is_idle` says that the run has nothing else to do until one of the values comes. A server that finds only idle runs, which wait for
    each other, ends their waits.
    """

    order: OrderName
    catalog: Digest
    waits: Annotated[list[Wait], msgspec.Meta(max_length=MAX_KEYS)]
    at: datetime
    is_idle: bool = False


class Binding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value that a resource was given: the node that promised it, and the number that it had."""

    key: FutureKey
    node: Text
    number: RecordNumber
    is_standing: bool = False


class Bound(msgspec.Struct, frozen=True, omit_defaults=True):
    """A resource does not wait any more: it was given these values, or has failed for a reason. Kind `future-bound`."""

    order: OrderName
    catalog: Digest
    resource: Text
    bindings: Annotated[list[Binding], msgspec.Meta(max_length=MAX_PRODUCERS)]
    at: datetime
    reason: Text = ""


# Bodies of the API. A sensitive value is never in one that a server sends.


class StandingFuture(msgspec.Struct, frozen=True, omit_defaults=True):
    """A standing value of an environment. `node` is empty if a person has put it; `said_by` is the attempt, the report or the person."""

    environment: str
    key: str
    node: str
    number: int
    said_by: str
    fulfilled_at: datetime
    changed_at: datetime
    is_sensitive: bool = False
    expires_at: datetime | None = None
    is_expired: bool = False
    value: Any = None  # empty for a sensitive or expired one


class NewFuture(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value that a person puts in place of a node's promise, or for no node."""

    key: FutureKey
    value: Any = None
    node: str = ""
    ttl_s: Seconds | None = None
    is_sensitive: bool = False
    is_removal: bool = False  # the value is deleted instead


class FutureChanges(msgspec.Struct, frozen=True):
    """All values of a key, and the number that a later question continues from."""

    values: list[StandingFuture]
    last: int


class JobFuture(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a member of a job promises."""

    key: str
    node: str
    state: str
    number: int
    task: int
    attempt: int
    is_sensitive: bool = False
    expires_at: datetime | None = None
    reason: str = ""
    value: Any = None


class JobWait(msgspec.Struct, frozen=True, omit_defaults=True):
    """A resource that waits for a key: whom for, and until when."""

    node: str
    resource: str
    key: str
    since: datetime
    due_at: datetime
    pending: list[str]  # the members that will promise the key
    failed: list[str]  # those that will not, with the reason
    is_idle: bool = False


class JobBinding(msgspec.Struct, frozen=True):
    """A resource that was given a value which its producer has replaced since."""

    node: str
    resource: str
    key: str
    producer: str
    number: int


class JobFutures(msgspec.Struct, frozen=True):
    """The futures of a job: a page of its promises, all that waits, and who was given values that are replaced."""

    promises: list[JobFuture]
    waits: list[JobWait]
    stale: list[JobBinding]
    is_complete: bool


class FutureExplanation(msgspec.Struct, frozen=True):
    """Why a key has, or has not, a value: who may promise and who needs it by released catalogs, its values, and the jobs that wait."""

    key: str
    environment: str
    promising: list[str]  # nodes whose released catalog promises it
    needing: list[str]
    values: list[StandingFuture]
    jobs: list[str]  # open jobs whose members promise it or wait for it
    is_complete: bool
