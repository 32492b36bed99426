"""The state of boots on disk: the instance, the module runs with their results, and the record of the latest boot.

The directory is accessible to root only (0700). A line is flushed before a module starts, together with the name of its file and of its
directories, and another line when the module has ended. So even after a power failure it is known which module runs had begun and which of
them had ended. An incomplete line counts as not written.
"""

import contextlib
import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from precast.base import files
from precast.boot import issues
from precast.boot.events import AnyEvent, Result, StageBegan
from precast.boot.modules.contract import Frequency

PLACE = Path("var/lib/precast/boot")
RECORD, IDENTITY, RAN = "record.jsonl", "identity.json", "ran.jsonl"
# The module runs of all time, and of the latest boot.
ONCE, LATEST = "once.jsonl", "latest.jsonl"
CONFIG, LOG = "config.json", "log"
BOOT_ID = Path("proc/sys/kernel/random/boot_id")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class ModuleRunRecord(msgspec.Struct, frozen=True):
    """The start of a module run (no result), or its result."""

    module_run: str
    result: Result | None = None


class ModuleRunMemory(NamedTuple):
    """What is known about earlier runs: the latest result, and how often a run has begun since then and not ended."""

    result: Result | None = None
    cut_off_count: int = 0


class Identity(msgspec.Struct, frozen=True):
    """The instance that this machine was at the latest boot."""

    instance_id: str
    source: str
    previous_id: str = ""


class State:
    """The state directory of one root. With `is_dry_run` nothing is written."""

    def __init__(self, root: Path, is_dry_run: bool = False) -> None:
        self.root = root
        self.directory = root / PLACE
        self._is_dry_run = is_dry_run

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock that allows one boot at a time. Raises ConflictError BOOT-001, UnavailableError BOOT-002."""
        if self._is_dry_run:
            yield
            return
        try:
            files.make_private_directory(self.directory)
            handle = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise issues.NO_STATE.error(path=self.directory, reason=error.strerror) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise issues.RUNS_ALREADY.error(path=self.directory) from None
        finally:
            os.close(handle)

    def boot_id(self) -> str:
        """Return the kernel's id of this boot; empty in a root that was not booted."""
        try:
            return (self.root / BOOT_ID).read_text().strip()
        except OSError:
            return ""

    def events(self) -> list[AnyEvent]:
        """Return the record of the latest boot, oldest event first. Raises NotFoundError BOOT-003 if there is none."""
        events = list(_lines(self.directory / RECORD, AnyEvent))
        if not events:
            raise issues.NEVER_BOOTED.error(root=self.root)
        return events

    def begin(self, began: StageBegan, is_continued: bool) -> None:
        """Start a new record, or continue it if this is a later stage of the same boot."""
        if not is_continued and not self._is_dry_run:
            for name in (RECORD, LATEST, LOG):
                (self.directory / name).unlink(missing_ok=True)
        self.note(began)

    def note(self, event: AnyEvent) -> None:
        self._append(self.directory / RECORD, event, is_flushed=False)

    def identity(self) -> Identity | None:
        try:
            return msgspec.json.decode((self.directory / IDENTITY).read_bytes(), type=Identity)
        except (OSError, msgspec.MsgspecError):
            return None

    def remember(self, identity: Identity, config: bytes) -> None:
        """Write the identity and the whole configuration, readable by root only."""
        if self._is_dry_run:
            return
        place = self.instance(identity.instance_id)
        files.make_private_directory(place.parent)
        files.make_private_directory(place)
        files.write_private(self.directory / IDENTITY, msgspec.json.encode(identity))
        files.write_private(place / CONFIG, config)

    def instance(self, instance_id: str) -> Path:
        """Return the directory of an instance. An id that is not a plain file name is replaced by its digest."""
        plain = _PLAIN.fullmatch(instance_id) is not None
        return (
            self.directory / "instances" / (instance_id if plain else hashlib.sha256(instance_id.encode()).hexdigest())
        )

    def has_record_of(self, boot_id: str) -> bool:
        """Whether the record belongs to this boot."""
        first = next(_lines(self.directory / RECORD, AnyEvent), None)
        return isinstance(first, StageBegan) and first.boot_id == boot_id

    def read_memory(self, instance_id: str, frequency: Frequency) -> dict[str, ModuleRunMemory]:
        """Return what is known about the module runs of a frequency that still count."""
        memory: dict[str, ModuleRunMemory] = {}
        for ran in _lines(self._ran(instance_id, frequency), ModuleRunRecord):
            known = memory.get(ran.module_run, ModuleRunMemory())
            memory[ran.module_run] = (
                known._replace(cut_off_count=known.cut_off_count + 1)
                if ran.result is None
                else ModuleRunMemory(ran.result)
            )
        return memory

    def write(self, instance_id: str, frequency: Frequency, ran: ModuleRunRecord) -> None:
        """Append a line; it is flushed to disk when this returns."""
        self._append(self._ran(instance_id, frequency), ran, is_flushed=True)

    def _ran(self, instance_id: str, frequency: Frequency) -> Path:
        if frequency == Frequency.INSTANCE:
            return self.instance(instance_id) / RAN
        return self.directory / (ONCE if frequency == Frequency.ONCE else LATEST)

    def log(self, module_run: str, level: str, text: str) -> None:
        """Append a line of output of a module, or of a program that it ran, to the log."""
        if not self._is_dry_run:
            handle = os.open(self.directory / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "w", errors="backslashreplace") as file:
                file.write(f"{module_run}: {level}: {text}\n")

    def _append(self, path: Path, value: msgspec.Struct, is_flushed: bool) -> None:
        if self._is_dry_run:
            return
        is_new = not path.exists()
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, b"\n" + msgspec.json.encode(value))
            if is_flushed:
                os.fsync(handle)
        finally:
            os.close(handle)
        if is_flushed and is_new:
            files.flush_directory(path.parent)


def _lines(path: Path, kind: Any) -> Iterator[Any]:
    try:
        data = path.read_bytes()
    except OSError:
        return
    for line in data.split(b"\n"):
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
            if line:
                yield msgspec.json.decode(line, type=kind)
