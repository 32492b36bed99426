"""What happens in a boot, as it is written down: one line of JSON each, in order. Everything that people are told later is made from these.

Times are seconds since the run began. No value of a capability is in here: user data and passwords have no place in a log.
"""

import enum

import msgspec


class Result(enum.Enum):
    """How a module's transition ended."""

    DONE = "done"
    FAILED = "failed"
    NOT_RUN = "not run"


class Event(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """What all have in common."""

    at_s: float


class Began(Event, frozen=True, tag="began"):
    """A run begins; a stage of the same boot continues the record."""

    boot_id: str
    moment: str
    stage: str
    is_two_step: bool = False
    is_dry_run: bool = False


class RuledOut(Event, frozen=True, tag="ruled_out"):
    source: str
    reason: str


class Asked(Event, frozen=True, tag="asked"):
    source: str
    rank: int
    is_confirmed: bool
    reason: str
    deadline_s: float


class Answered(Event, frozen=True, tag="answered"):
    source: str
    is_here: bool
    reason: str = ""
    origin: str = ""
    instance_id: str | None = None
    offers: tuple[str, ...] = ()
    is_absent: bool = False  # this is another platform: most sources say so at every boot


class Held(Event, frozen=True, tag="held"):
    capability: str
    source: str
    reason: str


class Settled(Event, frozen=True, tag="settled"):
    capability: str
    is_given: bool
    source: str = ""
    reason: str = ""


class Configured(Event, frozen=True, tag="configured"):
    instance_id: str
    jobs: int
    findings: tuple[str, ...] = ()


class LeftOut(Event, frozen=True, tag="left_out"):
    """A module's job that is not started at all, and why."""

    job: str
    reason: str
    is_asked_for: bool = True


class Planned(Event, frozen=True, tag="planned"):
    """A job and what it waits for, in words."""

    job: str
    waits: tuple[str, ...] = ()
    is_asked_for: bool = True  # by a key of the configuration; else it was tried because there might be something to do


class Started(Event, frozen=True, tag="started"):
    job: str


class Ended(Event, frozen=True, tag="ended"):
    job: str
    result: Result
    reason: str = ""
    changes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Finished(Event, frozen=True, tag="finished"):
    is_complete: bool


AnyEvent = (
    Began | RuledOut | Asked | Answered | Held | Settled | Configured | LeftOut | Planned | Started | Ended | Finished
)
