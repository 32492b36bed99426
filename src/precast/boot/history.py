"""The history of a boot: what happened to each source, capability and module run. It is built from events only, live or recorded."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from precast.boot import events
from precast.boot.events import AnyEvent, Result
from precast.boot.plan import CONFIGURATION

NOT_NEEDED = "no module waits for it any more"


@dataclass
class SourceHistory:
    """The history of a source. Without `asked_s` it was not asked, and `reason` states why."""

    name: str
    reason: str = ""
    rank: int = 0
    is_confirmed: bool = False
    likelihood: str = ""
    asked_s: float | None = None
    answered_s: float | None = None
    is_here: bool = False
    is_absent: bool = False
    origin: str = ""
    instance_id: str | None = None
    offers: tuple[str, ...] = ()

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to report: the source is absent, or its answer was no longer needed."""
        return not self.is_here and (self.is_absent or self.reason == NOT_NEEDED)

    @property
    def words(self) -> str:
        if self.asked_s is None:
            return f"not asked: {self.reason}"
        if self.answered_s is None:
            return "asked, has not answered"
        return f"here: {self.origin}, instance {self.instance_id}" if self.is_here else self.reason


@dataclass
class CapabilityHistory:
    """The history of a capability: which sources held it back, and which gave it."""

    name: str
    holds: list[tuple[float, str, str]] = field(default_factory=list)
    settled_s: float | None = None
    is_given: bool = False
    source: str = ""
    reason: str = ""

    @property
    def words(self) -> str:
        if self.settled_s is None:
            return f"held back by {self.holds[-1][1]}: {self.holds[-1][2]}" if self.holds else "not asked for"
        return f"from {self.source}: {self.reason}" if self.is_given else f"missing: {self.reason}"


@dataclass
class ModuleRunHistory:
    """The history of a module run. Without `started_s` it did not run, and `reason` states why."""

    name: str
    waits: tuple[str, ...] = ()
    is_asked_for: bool = True
    planned_s: float | None = None
    started_s: float | None = None
    ended_s: float | None = None
    result: Result | None = None
    reason: str = ""
    changes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    earlier_result: Result | None = None  # of a run that an earlier boot began; this boot did not repeat it

    @property
    def is_idle(self) -> bool:
        """Whether no configuration key asked for it and it changed nothing."""
        is_over = self.result in (None, Result.NOT_RUN) or (self.result == Result.DONE and not self.changes)
        return is_over and not self.is_open and not self.is_asked_for and not self.warnings

    @property
    def is_open(self) -> bool:
        """Whether it began and has not ended: it still runs, or the boot was killed."""
        return self.result is None and self.started_s is not None

    @property
    def is_stuck(self) -> bool:
        """Whether it was left out in this boot, and no earlier run is the reason: what it waits for did not come."""
        return self.result is None and self.started_s is None and self.earlier_result is None and bool(self.reason)

    @property
    def is_incomplete(self) -> bool:
        return self.is_open or self.result in _INCOMPLETE

    @property
    def is_notable(self) -> bool:
        """Whether a status must show it: it is incomplete or was in an earlier boot, has warnings, or was asked for and not run."""
        is_left_out = self.result == Result.NOT_RUN and not self.is_idle
        return self.is_incomplete or bool(self.warnings) or is_left_out or self.earlier_result in _INCOMPLETE

    @property
    def words(self) -> str:
        if self.is_open:
            return "cut off or still running: it began and has not ended"
        if self.result is None:
            return f"not run: {self.reason}"
        count = len(self.changes)
        changes = f"{count} change{'' if count == 1 else 's'}" if count else "nothing to change"
        if self.result == Result.DONE:
            return f"done, {changes}" + (f": {self.reason}" if self.reason else "")
        return f"{self.result.value}: {self.reason}"


_INCOMPLETE = (Result.FAILED, Result.CUT_OFF)


class BootHistory:
    """The history of the latest boot. The times of consecutive stages are concatenated."""

    def __init__(self, record: Iterable[AnyEvent] = ()) -> None:
        self.sources: dict[str, SourceHistory] = {}
        self.capabilities: dict[str, CapabilityHistory] = {}
        self.module_runs: dict[str, ModuleRunHistory] = {}
        self.began: events.StageBegan | None = None
        self.stages: list[str] = []
        self.instance_id = ""
        self.findings: tuple[str, ...] = ()
        self.rejected: tuple[str, ...] = ()
        self.configured_s: float | None = None
        self.is_finished = False
        self._is_stage_complete = False
        self.length_s = 0.0
        self._offset_s = 0.0
        for event in record:
            self.add(event)

    def add(self, event: AnyEvent) -> None:
        """Add an event."""
        at_s = self._offset_s + event.at_s
        self.length_s = max(self.length_s, at_s)
        match event:
            case events.StageBegan():
                self._offset_s = self.length_s if self.began is not None else 0.0
                self.began = self.began or event
                self.stages.append(event.stage)
                self.is_finished = self._is_stage_complete = False
            case events.ConfigurationMade():
                self.configured_s, self.instance_id = at_s, event.instance_id
                self.findings, self.rejected = event.findings, event.rejected
                self.module_runs.pop(CONFIGURATION, None)  # an earlier stage could not make it yet
            case events.StageFinished():
                self.is_finished, self._is_stage_complete = True, event.is_complete
            case events.SourceRuledOut() | events.SourceAsked() | events.SourceAnswered():
                self._add_source_event(event, at_s)
            case events.CapabilityHeld() | events.CapabilitySettled():
                self._add_capability_event(event, at_s)
            case _:
                self._add_module_run_event(event, at_s)

    def _add_source_event(
        self, event: events.SourceRuledOut | events.SourceAsked | events.SourceAnswered, at_s: float
    ) -> None:
        story = self.sources.setdefault(event.source, SourceHistory(event.source))
        story.reason = event.reason
        if isinstance(event, events.SourceAsked):
            story.asked_s, story.rank, story.is_confirmed = at_s, event.rank, event.is_confirmed
            story.likelihood = event.reason
        elif isinstance(event, events.SourceAnswered):
            story.answered_s, story.is_here, story.is_absent = at_s, event.is_here, event.is_absent
            story.origin, story.instance_id, story.offers = event.origin, event.instance_id, event.offers

    def _add_capability_event(self, event: events.CapabilityHeld | events.CapabilitySettled, at_s: float) -> None:
        story = self.capabilities.setdefault(event.capability, CapabilityHistory(event.capability))
        if isinstance(event, events.CapabilityHeld):
            story.holds.append((at_s, event.source, event.reason))
        else:
            story.settled_s, story.is_given = at_s, event.is_given
            story.source, story.reason = event.source, event.reason

    def _add_module_run_event(
        self,
        event: events.ModuleLeftOut | events.ModulePlanned | events.ModuleStarted | events.ModuleEnded,
        at_s: float,
    ) -> None:
        story = self.module_runs.setdefault(event.module_run, ModuleRunHistory(event.module_run))
        match event:
            case events.ModulePlanned():
                story.planned_s, story.waits, story.is_asked_for = at_s, event.waits, event.is_asked_for
            case events.ModuleStarted():
                story.started_s = at_s
            case events.ModuleLeftOut() if story.started_s is None:
                story.reason, story.is_asked_for = event.reason, event.is_asked_for
                story.earlier_result = event.earlier_result
            case events.ModuleEnded():
                story.ended_s, story.result, story.reason = at_s, event.result, event.reason
                story.changes, story.warnings = event.changes, event.warnings
            case _:
                pass  # a later stage reports again that it has run: the history stays

    @property
    def identity(self) -> SourceHistory | None:
        """The source that identified the machine."""
        given = next(
            (
                capability
                for capability in self.capabilities.values()
                if capability.name.startswith("instance id") and capability.is_given
            ),
            None,
        )
        return self.sources.get(given.source) if given is not None else None

    @property
    def notable_runs(self) -> list[ModuleRunHistory]:
        """The module runs that a status must show."""
        is_stuck = not self._is_stage_complete
        return [run for run in self.module_runs.values() if run.is_notable or (is_stuck and run.is_stuck)]

    @property
    def is_complete(self) -> bool:
        """Whether the latest stage ended with everything that was due, no module run of any stage failed or was cut off, and the
        user data was carried out as a whole."""
        is_any_incomplete = any(run.is_incomplete for run in self.module_runs.values())
        return self._is_stage_complete and not is_any_incomplete and not self.rejected
