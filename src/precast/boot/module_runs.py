"""Runs modules: decides which module runs are due, runs each with its context, and records its start and its result.

A module run is due by its frequency. A run that began and never ended was interrupted by a crash and is repeated. A failed run counts as
done: the user's commands must not run at every boot until they happen to succeed; `--retry` repeats it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from precast.agent.applying.machine import Machine
from precast.base.errors import PrecastError
from precast.boot.capabilities import Capability
from precast.boot.configuration import Configuration
from precast.boot.events import Result
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Frequency
from precast.boot.plan import ModuleRun
from precast.boot.state import Identity, ModuleRunRecord, State

Log = Callable[[str, str, str], None]


@dataclass(slots=True)
class ModuleRunEnd:
    """How a module run ended; the texts contain no secrets."""

    result: Result
    reason: str = ""
    changes: Sequence[str] = field(default_factory=list)
    warnings: Sequence[str] = field(default_factory=list)


class ModuleRunner:
    """Runs the modules of one boot. `run` is called from several threads, for different module runs."""

    def __init__(self, state: State, machine: Machine, log: Log, is_dry_run: bool = False) -> None:
        self._state = state
        self._machine = machine
        self._log = log
        self._is_dry_run = is_dry_run

    def begin(
        self, identity: Identity, configuration: Configuration, module_runs: Sequence[ModuleRun], is_retry: bool
    ) -> dict[str, str]:
        """Set the identity and configuration; return the module runs that are not due, each with the reason."""
        self._identity = identity
        self._configuration = configuration
        memory = {each: self._state.read_results(identity.instance_id, each) for each in Frequency}
        reasons = {
            module_run.name: _explain_not_due(
                module_run, memory[module_run.module.frequency].get(module_run.name), is_retry
            )
            for module_run in module_runs
        }
        return {name: reason for name, reason in reasons.items() if reason}

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
            ends = ModuleRunEnd(result, told.not_run or "", told.changes, told.warnings)
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


def _explain_not_due(module_run: ModuleRun, result: Result | None, is_retry: bool) -> str:
    if result is None or result == Result.NOT_RUN or (is_retry and result == Result.FAILED):
        return ""
    words = _REASONS[module_run.module.frequency]
    return f"{words}; it failed, and --retry repeats it" if result == Result.FAILED else words


def _describe_error(error: BaseException) -> str:
    if isinstance(error, PrecastError):
        return error.message
    return str(error) or type(error).__name__
