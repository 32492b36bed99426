"""Runs the jobs of modules: which are due, each with its context, and what came of it written down before and after.

A job is due by its frequency. What began and never ended was cut off by a crash, and is done again. What failed counts as
done: commands of the user must not run at every boot until they happen to succeed; `--retry` runs it again.
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
from precast.boot.modules.context import Context
from precast.boot.modules.contract import Frequency
from precast.boot.plan import ModuleRun
from precast.boot.state import Identity, ModuleRunRecord, State

Log = Callable[[str, str, str], None]


@dataclass(slots=True)
class ModuleRunEnd:
    """How a job ended, in words without secrets."""

    result: Result
    reason: str = ""
    changes: Sequence[str] = field(default_factory=list)
    warnings: Sequence[str] = field(default_factory=list)


class ModuleRunner:
    """For one boot. `run` is called in threads, for different jobs at once."""

    def __init__(self, state: State, machine: Machine, log: Log, is_dry_run: bool = False) -> None:
        self._state = state
        self._machine = machine
        self._log = log
        self._is_dry_run = is_dry_run

    def begin(
        self, identity: Identity, configuration: Configuration, module_runs: Sequence[ModuleRun], is_retry: bool
    ) -> dict[str, str]:
        """Note whose machine this is; the jobs that are not due, with the reason."""
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
        """Run a job to its end. Whatever it raises is its failure, never the boot's."""
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

    def _context(self, module_run: ModuleRun, values: Mapping[Capability, Any]) -> Context:
        return Context(
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
    Frequency.ONCE: "it has run on this disk, and runs once",
    Frequency.INSTANCE: "it has run for this instance, and runs once for each",
    Frequency.BOOT: "it has run in this boot",
}


def _explain_not_due(module_run: ModuleRun, result: Result | None, is_retry: bool) -> str:
    if result is None or result == Result.NOT_RUN or (is_retry and result == Result.FAILED):
        return ""
    words = _REASONS[module_run.module.frequency]
    return f"{words}; it failed, and --retry runs it again" if result == Result.FAILED else words


def _describe_error(error: BaseException) -> str:
    if isinstance(error, PrecastError):
        return error.message
    return str(error) or type(error).__name__
