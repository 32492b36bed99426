"""A wrong clock for a process and its children, by libfaketime: the time of day jumps while they run, monotonic time does not."""

import shutil
from datetime import timedelta
from pathlib import Path

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


class WrongClock:
    """The clock of the processes that are started with `environment`. It is right until it is set."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._file = directory / "faketime"
        self.correct()

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",  # a change of the file is seen at once
            "DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_FAKE_UTIME": "1",
            "NO_FAKE_STAT": "1",
        }

    @property
    def prefix(self) -> list[str]:
        """A command that runs another one with this clock."""
        return [shutil.which("env") or "env", *(f"{name}={value}" for name, value in self.environment.items())]

    def set(self, offset: timedelta) -> None:
        """Let the clock be ahead of the right time by an offset, or behind it."""
        draft = self._file.with_suffix(".new")
        draft.write_text(f"{offset.total_seconds():+.0f}\n")
        draft.replace(self._file)  # a reader sees one time or the other

    def correct(self) -> None:
        self.set(timedelta(0))
