"""A wrong clock for a process and its children, by libfaketime: the time of day jumps while they run, monotonic time does not."""

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

# A change is seen after this time at the latest. A confined process reads the file when it starts, and cannot read it again.
CACHE_S = 5
LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


class WrongClock:
    """The clock of the processes that are started with `environment`. It is right until it is set."""

    def __init__(self) -> None:
        # Processes that drop their privileges must still find the file.
        self._directory = Path(tempfile.mkdtemp(prefix="precast-clock-"))
        self._directory.chmod(0o755)
        self._file = self._directory / "faketime"
        self.correct()

    def close(self) -> None:
        shutil.rmtree(self._directory)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": str(CACHE_S),
            "DONT_FAKE_MONOTONIC": "1",
            # Otherwise waits on condition variables end at once, and every thread that waits for Python's lock spins.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
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
