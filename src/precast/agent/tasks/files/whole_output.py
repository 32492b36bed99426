"""The whole output of a command or task, for when it is larger than what is sent as lines: it goes to a server as content of the job.

It is spooled while it is printed, in a temporary file without a name that disappears with its process. Output that is larger than content
may be, or that the disk has no space for, is given up whole: a part of it would be taken for all of it.
"""

import hashlib
import signal
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from precast.agent.state.paths import make_state_directory
from precast.agent.tasks.context import MAX_MESSAGE_CHARS, TaskContext
from precast.agent.tasks.files.server_content import ServerContent
from precast.base.errors import PrecastError
from precast.wire.jobs.orders import WholeOutput
from precast.wire.plans.task_content import MAX_CONTENT_BYTES

# Smaller output is spooled in memory.
MAX_MEMORY_BYTES = 64 * 1024
# How long it may take to send, beyond the time that the command has: less than a server waits for the end of an attempt.
SEND_S = 20.0


class OutputSpool:
    """The output of one command or task so far. A context manager; the spooled bytes are gone after the block."""

    def __init__(self, root: Path) -> None:
        """Raises OSError."""
        directory = str(make_state_directory(root))
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(MAX_MEMORY_BYTES, dir=directory)  # noqa: SIM115 - it is closed at the end
        self._digest = hashlib.sha256()
        self._error = ""
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Delete what is spooled."""
        self._file.close()

    def add(self, data: bytes) -> None:
        """Add output. What cannot be spooled is only counted, with all that follows it."""
        self.size += len(data)
        if self._error:
            return
        if self.size > MAX_CONTENT_BYTES:
            self.give_up(f"it is larger than {MAX_CONTENT_BYTES} bytes")
            return
        try:
            self._file.write(data)
        except OSError as error:
            self.give_up(f"it cannot be spooled: {error.strerror or error}")
        self._digest.update(data)

    def give_up(self, why: str) -> None:
        """Spool no more, and forget what was spooled."""
        self._error = why
        self._file.close()

    def send(self, context: TaskContext) -> WholeOutput:
        """Send the output to a server, or say why that was not possible. Raises nothing: an output is no reason to fail."""
        if self._error:
            return self.describe(self._error)
        digest = self._digest.hexdigest()
        try:
            with ServerContent(context) as server:
                server.send(digest, self._file, self.size)
        except PrecastError as error:
            return self.describe(f"{error.message} [{error.code}]")
        except OSError as error:
            return self.describe(error.strerror or str(error))
        return WholeOutput(self.size, digest)

    def send_alone(self, context: TaskContext) -> WholeOutput:
        """As `send`, in the main thread of a process that nothing else ends at the deadline: an alarm does."""
        before = signal.signal(signal.SIGALRM, _end_late)
        try:
            signal.setitimer(signal.ITIMER_REAL, max(context.left_s, 0.1))
            return self.send(context)
        except TimeoutError as error:  # between two of its steps
            return self.describe(str(error))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)

    def describe(self, why: str) -> WholeOutput:
        """The output as one that is not stored."""
        return WholeOutput(self.size, error=why[:MAX_MESSAGE_CHARS])


def _end_late(number: int, frame: object) -> None:
    raise TimeoutError("it was not sent in time")
