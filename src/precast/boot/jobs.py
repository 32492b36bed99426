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
from precast.boot.plan import Job
from precast.boot.state import Identity, Ran, State

Log = Callable[[str, str, str], None]


@dataclass(slots=True)
class Ends:
    """How a job ended, in words without secrets."""

    result: Result
    reason: str = ""
    changes: Sequence[str] = field(default_factory=list)
    warnings: Sequence[str] = field(default_factory=list)


class Jobs:
    """For one boot. `run` is called in threads, for different jobs at once."""

    def __init__(self, state: State, machine: Machine, log: Log, is_dry_run: bool = False) -> None:
        self._state = state
        self._machine = machine
        self._log = log
        self._is_dry_run = is_dry_run

    def begin(
        self, identity: Identity, configuration: Configuration, jobs: Sequence[Job], is_retry: bool
    ) -> dict[str, str]:
        """Note whose machine this is; the jobs that are not due, with the reason."""
        self._identity = identity
        self._configuration = configuration
        memory = {each: self._state.memory(identity.instance_id, each) for each in Frequency}
        reasons = {job.name: _not_due(job, memory[job.module.frequency].get(job.name), is_retry) for job in jobs}
        return {name: reason for name, reason in reasons.items() if reason}

    def run(self, job: Job, values: Mapping[Capability, Any]) -> Ends:
        """Run a job to its end. Whatever it raises is its failure, never the boot's."""
        self._write(job, None)
        context = self._context(job, values)
        try:
            told = job.part.run(context)
        except (PrecastError, OSError) as error:
            ends = Ends(Result.FAILED, _words(error), context.outcome.changes, context.outcome.warnings)
        except Exception as error:  # noqa: BLE001 - the boundary to a module: its bug must not end the boot
            reason = f"this is a bug: {type(error).__name__}: {error}"
            ends = Ends(Result.FAILED, reason, context.outcome.changes, context.outcome.warnings)
        else:
            result = Result.NOT_RUN if told.not_run else Result.DONE
            ends = Ends(result, told.not_run or "", told.changes, told.warnings)
        self._write(job, ends.result)
        return ends

    def _context(self, job: Job, values: Mapping[Capability, Any]) -> Context:
        return Context(
            self._machine,
            self._configuration.config,
            values,
            self._directory,
            lambda level, text: self._log(job.name, level, text),
            is_dry_run=self._is_dry_run,
            scripts=self._configuration.scripts,
        )

    @property
    def _directory(self) -> Path:
        return self._state.instance(self._identity.instance_id)

    def _write(self, job: Job, result: Result | None) -> None:
        self._state.write(self._identity.instance_id, job.module.frequency, Ran(job.name, result))


_REASONS = {
    Frequency.ONCE: "it has run on this disk, and runs once",
    Frequency.INSTANCE: "it has run for this instance, and runs once for each",
    Frequency.BOOT: "it has run in this boot",
}


def _not_due(job: Job, result: Result | None, is_retry: bool) -> str:
    if result is None or result == Result.NOT_RUN or (is_retry and result == Result.FAILED):
        return ""
    words = _REASONS[job.module.frequency]
    return f"{words}; it failed, and --retry runs it again" if result == Result.FAILED else words


def _words(error: BaseException) -> str:
    if isinstance(error, PrecastError):
        return error.message
    return str(error) or type(error).__name__
