"""What a node tells of a run while it goes on: that it began, what happened to resources, how it ended.

Three kinds of numbered records, tied by the report's id, which the node makes. Only resources to which something happened travel one
by one, numbered from 1 without gaps; the rest is a count, and names in one packed part. `RunEnded` says again how the run began, so a
run that is over at once is one record, and one whose beginning was lost on the node is still understood.
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
# ended: it came to its end, whatever it found. broken-off: it was killed, or its end never came. not-run: it was not begun at all.
How = Literal["ended", "broken-off", "not-run"]

ReportId = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")]
Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Short = Annotated[str, msgspec.Meta(max_length=256)]
Line = Annotated[str, msgspec.Meta(max_length=4096)]

# Of the packed part, unpacked; more than that is not looked at.
MAX_REST_BYTES = 8 * 1024 * 1024


class RunBegan(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run begins. Kind `run-began`."""

    report: ReportId
    mode: Mode
    reason: Reason
    began_at: Moment
    catalog: Short = ""  # the digest that is applied
    release: Count = 0  # the number of the release that brought it; 0 if the node does not know
    environment: Short = ""
    version: Short = ""  # of the environment
    resources: Count = 0
    order: Short = ""  # who ordered it, if somebody did
    is_stale: bool = False  # whether it is known that another catalog was released, or could not be asked
    stale_since: Moment | None = None
    stale_why: Line = ""


class RunEvents(msgspec.Struct, frozen=True):
    """Resources to which something happened, in their order; the first has this number. Kind `run-events`."""

    report: ReportId
    first: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    reports: Annotated[list[ResourceReport], msgspec.Meta(max_length=10_000)]


class Slow(msgspec.Struct, frozen=True):
    """A resource that took its time."""

    resource: str
    seconds: Seconds


class Timings(msgspec.Struct, frozen=True):
    """Where the time went: by phase of the run, and the slowest resources first."""

    phases: dict[str, Seconds] = {}
    slowest: Annotated[list[Slow], msgspec.Meta(max_length=100)] = []


class Rest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Resources to which nothing happened: as wanted, or left out by choice, which is told once for all that share it."""

    unchanged: list[str] = []
    left_out: dict[str, list[str]] = {}


class RunEnded(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run is over. Kind `run-ended`. `reports` are the last resources, numbered on to `events`."""

    began: RunBegan
    how: How
    ended_at: Moment
    summary: Summary | None = None  # None if nobody could count
    events: Count = 0  # how many resources were told one by one, in all
    reports: Annotated[list[ResourceReport], msgspec.Meta(max_length=10_000)] = []
    timings: Timings = Timings()
    rest: bytes = b""  # packed `Rest`; empty if that is all of the catalog but those that were told
    why: Line = ""  # of a run that did not come to its end, or only looked although it was to change things


def pack_rest(rest: Rest) -> bytes:
    return zlib.compress(msgspec.json.encode(rest), 1)


def unpack_rest(packed: bytes) -> Rest | None:
    """The names; None if it is not what it should be."""
    try:
        return msgspec.json.decode(zlib.decompressobj().decompress(packed, MAX_REST_BYTES), type=Rest)
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError):
        return None
