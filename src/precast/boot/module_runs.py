"""Runs modules: decides which module runs are due, runs each with its context, and records its start and its result.

A module run is due by its frequency. A failed run counts as done: the user's commands must not run at every boot until they happen to
succeed; `--retry` repeats it. A run that began and never ended was cut off. If it ran the user's commands, it counts as run, because one of
these may be what rebooted the machine; `--retry` repeats it. A module that only brings about a declared state is repeated, a bounded number
of times: whatever takes the machine down each time must not do so for ever.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from precast.agent.applying.machine import Machine
from precast.base.errors import PrecastError
from precast.boot.capabilities import Capability
from precast.boot.configuration import Configuration
from precast.boot.events import Result
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Frequency
from precast.boot.plan import ModuleRun
from precast.boot.state import Identity, ModuleRunMemory, ModuleRunRecord, State

Log = Callable[[str, str, str], None]
MOST_BEGINNINGS = 3  # how often a module run begins that never ends


@dataclass(slots=True)
class ModuleRunEnd:
    """How a module run ended; the texts contain no secrets."""

    result: Result
    reason: str = ""
    changes: Sequence[str] = field(default_factory=list)
    warnings: Sequence[str] = field(default_factory=list)


class NotDue(NamedTuple):
    """Why a module run is not due, and its result. `is_noticed_now` if nobody has recorded that result yet: it was cut off."""

    reason: str
    result: Result
    is_noticed_now: bool = False


class ModuleRunner:
    """Runs the modules of one boot. `run` is called from several threads, for different module runs."""

    def __init__(self, state: State, machine: Machine, log: Log, is_dry_run: bool = False) -> None:
        self._state = state
        self._machine = machine
        self._log = log
        self._is_dry_run = is_dry_run
        self._begun_earlier: frozenset[str] = frozenset()

    def begin(
        self, identity: Identity, configuration: Configuration, module_runs: Sequence[ModuleRun], is_retry: bool
    ) -> dict[str, NotDue]:
        """Set the identity and configuration; return the module runs that are not due. Those that were cut off are recorded as such."""
        self._identity = identity
        self._configuration = configuration
        memory = {each: self._state.read_memory(identity.instance_id, each) for each in Frequency}
        not_due: dict[str, NotDue] = {}
        for module_run in module_runs:
            known = memory[module_run.module.frequency].get(module_run.name, ModuleRunMemory())
            if (reason := _judge_due(module_run, known, is_retry)) is not None:
                not_due[module_run.name] = reason
                if reason.is_noticed_now:
                    self._write(module_run, reason.result)
        self._begun_earlier = frozenset(() if is_retry else not_due)
        return not_due

    def run(self, module_run: ModuleRun, values: Mapping[Capability, Any]) -> ModuleRunEnd:
        """Run a module to its end. An exception is a failure of that module run, never of the boot."""
        self._write(module_run, None)
        context = self._context(module_run, values)
        try:
            told = module_run.part.run(context)
        except (PrecastError, OSError) as error:
            ends = ModuleRunEnd(
                Result.FAILED, _describe_error(error), context.outcome.changes, context.outcome.warnings
            )
        except Exception as error:  # noqa: BLE001 - the boundary to a module: its bug must not end the boot
            reason = f"this is a bug: {type(error).__name__}: {error}"
            ends = ModuleRunEnd(Result.FAILED, reason, context.outcome.changes, context.outcome.warnings)
        else:
            result = Result.NOT_RUN if told.not_run else Result.DONE
            ends = ModuleRunEnd(result, told.not_run or told.remark, told.changes, told.warnings)
        self._write(module_run, ends.result)
        return ends

    def _context(self, module_run: ModuleRun, values: Mapping[Capability, Any]) -> ModuleContext:
        return ModuleContext(
            self._machine,
            self._configuration.config,
            values,
            self._directory,
            lambda level, text: self._log(module_run.name, level, text),
            is_dry_run=self._is_dry_run,
            scripts=self._configuration.scripts,
            begun_earlier=self._begun_earlier,
        )

    @property
    def _directory(self) -> Path:
        return self._state.instance(self._identity.instance_id)

    def _write(self, module_run: ModuleRun, result: Result | None) -> None:
        self._state.write(
            self._identity.instance_id, module_run.module.frequency, ModuleRunRecord(module_run.name, result)
        )


_REASONS = {
    Frequency.ONCE: "it has already run on this disk, and runs only once",
    Frequency.INSTANCE: "it has already run for this instance, and runs once per instance",
    Frequency.BOOT: "it has already run in this boot",
}


_RETRIED = {Result.FAILED: "it failed", Result.CUT_OFF: "it was cut off"}


def _judge_due(module_run: ModuleRun, known: ModuleRunMemory, is_retry: bool) -> NotDue | None:
    """Return why a module run is not due; None if it is due."""
    if known.cut_off_count:
        if is_retry or (module_run.module.is_repeatable and known.cut_off_count < MOST_BEGINNINGS):
            return None
        times = "" if known.cut_off_count == 1 else f" {known.cut_off_count} times"
        reason = f"it began earlier and did not end{times}; it counts as run, and --retry repeats it"
        return NotDue(reason, Result.CUT_OFF, is_noticed_now=True)
    if known.result is None or known.result == Result.NOT_RUN or (is_retry and known.result in _RETRIED):
        return None
    words = _REASONS[module_run.module.frequency]
    if known.result in _RETRIED:
        words += f"; {_RETRIED[known.result]}, and --retry repeats it"
    return NotDue(words, known.result)


def _describe_error(error: BaseException) -> str:
    if isinstance(error, PrecastError):
        return error.message
    return str(error) or type(error).__name__
