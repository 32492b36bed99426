"""A task that runs on a node, with what it has printed."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from precast.agent.settings import AgentSettings
from precast.agent.state.store import LocalStore
from precast.agent.tasks.context import StepOutcome, TaskContext
from precast.base.errors import PrecastError
from precast.wire.jobs.orders import OutputLine

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
STRANGER = 12_345


class RunningTask:
    """The context of a task below a root."""

    def __init__(self, root: Path, store: LocalStore, *urls: str) -> None:
        self.root, self.store, self.urls = root, store, urls
        self.left_s = 60.0
        self.is_stopped = False
        self.lines: list[str] = []

    @property
    def context(self) -> TaskContext:
        first, *others = self.urls or ("",)
        settings = AgentSettings(url=first, fallbacks=tuple(others))
        deadline_s = time.monotonic() + self.left_s
        return TaskContext(
            "run-1.1.1", self.root, settings, self.store, deadline_s, lambda: self.is_stopped, self._emit
        )

    def _emit(self, lines: Sequence[OutputLine]) -> None:
        self.lines += [line.text for line in lines]

    def place(self, path: str, data: bytes | str, mode: int = 0o644, owner: int = -1) -> Path:
        """Write a file of the node, with its directories."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        file.chmod(mode)
        os.chown(file, owner, owner)
        return file

    def home(self, path: str, mode: int = 0o755, owner: int = STRANGER) -> Path:
        """Make a directory that belongs to another user."""
        directory = self.root / path.lstrip("/")
        directory.mkdir(parents=True)
        directory.chmod(mode)
        os.chown(directory, owner, owner)
        return directory


def refused(attempt: object) -> str:
    """The code of the error that a call ends with."""
    with pytest.raises(PrecastError) as raised:
        attempt()  # type: ignore[operator] # any callable
    assert "\n" not in raised.value.message
    return raised.value.code


def is_fine(outcome: StepOutcome) -> str:
    """The result of a step that has succeeded."""
    assert outcome.is_success, outcome
    return outcome.result
