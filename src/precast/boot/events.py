"""The events of a boot, as the record stores them: one line of JSON each, in order. `status` and `explain` read nothing else.

Times are seconds since the stage began. Events never contain the value of a capability: user data and passwords must not be logged.
"""

import enum

import msgspec


class Result(enum.Enum):
    """How a module run ended. A run that was cut off began and never ended: the machine went down, or the boot was killed."""

    DONE = "done"
    FAILED = "failed"
    NOT_RUN = "not run"
    CUT_OFF = "cut off"


class Event(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """The fields that all events have."""

    at_s: float


class StageBegan(Event, frozen=True, tag="began"):
    """A stage begins; later stages of the same boot are appended to the same record."""

    boot_id: str
    began_at: str
    stage: str
    is_two_step: bool = False
    is_dry_run: bool = False


class SourceRuledOut(Event, frozen=True, tag="ruled_out"):
    source: str
    reason: str


class SourceAsked(Event, frozen=True, tag="asked"):
    source: str
    rank: int
    is_confirmed: bool
    reason: str
    deadline_s: float


class SourceAnswered(Event, frozen=True, tag="answered"):
    source: str
    is_here: bool
    reason: str = ""
    origin: str = ""
    instance_id: str | None = None
    offers: tuple[str, ...] = ()
    is_absent: bool = False  # this is another platform, which is the usual answer of most sources


class CapabilityHeld(Event, frozen=True, tag="held"):
    capability: str
    source: str
    reason: str


class CapabilitySettled(Event, frozen=True, tag="settled"):
    capability: str
    is_given: bool
    source: str = ""
    reason: str = ""


class ConfigurationMade(Event, frozen=True, tag="configured"):
    """The configuration, with the values and parts of the user data that are invalid and were left out in `rejected`."""

    instance_id: str
    module_runs: int
    findings: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()


class ModuleLeftOut(Event, frozen=True, tag="left_out"):
    """A module run that is not started, and why; with its result if it ran earlier."""

    module_run: str
    reason: str
    is_asked_for: bool = True
    earlier_result: Result | None = None


class ModulePlanned(Event, frozen=True, tag="planned"):
    """A module run, and descriptions of what it waits for."""

    module_run: str
    waits: tuple[str, ...] = ()
    is_asked_for: bool = True  # by a key of the configuration; otherwise it runs because a source may have data for it


class ModuleStarted(Event, frozen=True, tag="started"):
    module_run: str


class ModuleEnded(Event, frozen=True, tag="ended"):
    module_run: str
    result: Result
    reason: str = ""
    changes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class StageFinished(Event, frozen=True, tag="finished"):
    is_complete: bool


AnyEvent = (
    StageBegan
    | SourceRuledOut
    | SourceAsked
    | SourceAnswered
    | CapabilityHeld
    | CapabilitySettled
    | ConfigurationMade
    | ModuleLeftOut
    | ModulePlanned
    | ModuleStarted
    | ModuleEnded
    | StageFinished
)
