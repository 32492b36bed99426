"""The records that a node sends about a run: its beginning, events of resources, and its end.

Three kinds of numbered records share the id of the report, which the node makes. Only resources with an event are sent one by one,
numbered from 1 without gaps; the others are a count, and their names in one compressed part. `RunEnded` repeats how the run began, so
a short run is one record, and a run whose beginning was lost on the node can still be understood.
"""

import zlib
from datetime import datetime
from typing import Annotated, Literal

import msgspec

from precast.wire.reports.events import Count, ResourceReport, Seconds, Summary

BEGAN = "run-began"
EVENTS = "run-events"
ENDED = "run-ended"

Mode = Literal["noop", "enforce"]
Reason = Literal["schedule", "released", "ordered", "hand"]
# ended: the run reached its end, whatever its result. broken-off: it was killed, or its end was never received. not-run: it never began.
RunEndState = Literal["ended", "broken-off", "not-run"]

ReportId = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")]
Timestamp = Annotated[datetime, msgspec.Meta(tz=True)]
ShortText = Annotated[str, msgspec.Meta(max_length=256)]
LineText = Annotated[str, msgspec.Meta(max_length=4096)]

# The limit of the decompressed part; the rest is ignored.
MAX_REST_BYTES = 8 * 1024 * 1024


class RunBegan(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run begins. Kind `run-began`."""

    report: ReportId
    mode: Mode
    reason: Reason
    began_at: Timestamp
    catalog: ShortText = ""  # the digest that is applied
    release: Count = 0  # the number of its release; 0 if the node does not know it
    environment: ShortText = ""
    version: ShortText = ""  # of the environment
    resources: Count = 0
    order: ShortText = ""  # the id of the order that caused it, if there is one
    is_stale: bool = False  # whether another catalog is known to be released, or the server could not be asked
    stale_since: Timestamp | None = None
    stale_why: LineText = ""


class RunEvents(msgspec.Struct, frozen=True):
    """Resources with an event, in order; `first` is the number of the first. Kind `run-events`."""

    report: ReportId
    first: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    reports: Annotated[list[ResourceReport], msgspec.Meta(max_length=10_000)]


class SlowResource(msgspec.Struct, frozen=True):
    """A slow resource and its duration."""

    resource: str
    seconds: Seconds


class Timings(msgspec.Struct, frozen=True):
    """The durations of a run: by phase, and of the slowest resources."""

    phases: dict[str, Seconds] = {}
    slowest: Annotated[list[SlowResource], msgspec.Meta(max_length=100)] = []


class UneventfulResources(msgspec.Struct, frozen=True, omit_defaults=True):
    """Resources without an event: in sync, or left out on purpose, by the reason that they share."""

    unchanged: list[str] = []
    left_out: dict[str, list[str]] = {}


class RunEnded(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run has ended. Kind `run-ended`. `reports` are the last resources with an event; the last one has the number `events`."""

    began: RunBegan
    how: RunEndState
    ended_at: Timestamp
    summary: Summary | None = None  # None if the resources were not counted
    events: Count = 0  # how many resources were sent one by one, in all
    reports: Annotated[list[ResourceReport], msgspec.Meta(max_length=10_000)] = []
    timings: Timings = Timings()
    rest: bytes = (
        b""  # compressed `UneventfulResources`; empty if it is all of the catalog except the resources with an event
    )
    why: LineText = ""  # why a run did not end normally, or was a no-op although it was to enforce


def compress_rest(rest: UneventfulResources) -> bytes:
    return zlib.compress(msgspec.json.encode(rest), 1)


def decompress_rest(compressed: bytes) -> UneventfulResources | None:
    """Return the names; None if the data is invalid."""
    try:
        return msgspec.json.decode(
            zlib.decompressobj().decompress(compressed, MAX_REST_BYTES), type=UneventfulResources
        )
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError):
        return None
