"""Caches the answers of sources for the later stages of the same boot, so that no source is asked twice.

The cache is one file that only root can read, since it contains user data and passwords. It exists only between stages: the last stage
deletes it when it begins, and a boot without stages writes none. It is valid for one start of one machine, identified by the kernel's
boot id, the start time of process 1 (a container shares the boot id with its host) and the firmware's names. So a copy of the disk that
is started as another machine does not use it. A corrupt file or one of another boot is ignored.

A value that cannot be cached (a function that reports to the platform) or was not fetched yet is fetched from the source when it is
needed; if the source then reports another instance id, it is refused. Absent sources are not asked again if another source has
identified the machine.
"""

import asyncio
import contextlib
import hashlib
from pathlib import Path
from typing import Any

import msgspec

from precast.base import files
from precast.base.errors import PrecastError
from precast.boot.capabilities import Capability
from precast.boot.sources import issues
from precast.boot.sources.contract import DetectedSource, Evidence, InjectedFile, MachineAccess, Source, SourceData

FILE = "answers"
_FIRST_PROCESS = "proc/1/stat"
_STARTED = 22  # the field of the start time, in ticks since the kernel started
_TUPLES = frozenset({Capability.PUBLIC_KEYS, Capability.CERTIFICATES})


class CachedAnswer(msgspec.Struct):
    """The answer of one source. Without `offers` it was absent, or failed for `reason`."""

    origin: str = ""
    instance_id: str | None = None
    offers: tuple[Capability, ...] = ()
    values: dict[str, Any] = {}
    reason: str = ""


class _File(msgspec.Struct):
    start: str
    sources: dict[str, CachedAnswer] = {}


def identify_start(root: Path, boot_id: str, evidence: Evidence) -> str:
    """Return a digest that is equal in all stages of one boot and differs in other boots; empty if nothing was booted."""
    if not boot_id:
        return ""
    try:
        fields = (root / _FIRST_PROCESS).read_text(errors="replace").rpartition(")")[2].split()
        started = fields[_STARTED - 3]  # the first two fields precede the bracket
    except (OSError, IndexError):
        started = ""
    names = [f"{name}={value}" for name, value in sorted(evidence.dmi.items())]
    return hashlib.sha256("\n".join([boot_id, started, evidence.command_line, *names]).encode()).hexdigest()


class AnswerCache:
    """The cache file of one root. Without `is_continued` this is the first stage, and an older cache is ignored.

    With `is_last` no stage follows, so the file is deleted and not written again.
    """

    def __init__(self, directory: Path, start: str, is_continued: bool, is_last: bool = False) -> None:
        self._path = directory / FILE
        self._is_removed = not is_continued or is_last
        self._is_last = is_last
        self._file = self._read(start) if is_continued else _File(start)

    def _read(self, start: str) -> _File:
        try:
            file = msgspec.msgpack.decode(self._path.read_bytes(), type=_File)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return _File(start)
        return file if file.start == start else _File(start)

    def get(self, name: str) -> CachedAnswer | None:
        """Return the cached answer of a source; None if the source must be asked."""
        cached = self._file.sources.get(name)
        knows_machine = any(each.instance_id is not None for each in self._file.sources.values())
        return cached if cached is not None and (cached.offers or knows_machine) else None

    def begin(self) -> None:
        """Delete the file of an earlier stage or boot, if this is the first stage or the last."""
        if self._is_removed:
            self._is_removed = False
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)

    def put(self, name: str, cached: CachedAnswer) -> None:
        """Store the answer of a source. If it cannot be written, a later stage asks the source again."""
        self._file.sources[name] = cached
        if self._is_last:
            return
        # A seed may contain values that msgpack cannot encode: huge numbers, lone surrogates, cycles.
        with contextlib.suppress(OSError, ValueError, OverflowError, TypeError, RecursionError):
            files.write_private(self._path, msgspec.msgpack.encode(self._file, enc_hook=str))


class CachingSource:
    """A source whose answers are cached; a cached answer is not requested again."""

    def __init__(self, source: Source, answers: AnswerCache) -> None:
        self._source = source
        self._answers = answers
        self.name = source.name
        self.rank = source.rank
        self.capabilities = source.capabilities
        self.likelihood = source.likelihood
        self.deadline_s = source.deadline_s
        self.needs_network = source.needs_network and answers.get(source.name) is None

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        self._answers.begin()
        cached = self._answers.get(self.name)
        if cached is not None:
            if not cached.offers and not cached.reason:
                return None
            if not cached.offers:
                raise issues.ABSENT_BEFORE.error(reason=cached.reason)
            return CachedData(self._source, access, cached, self._answers)
        try:
            detected = await self._source.find(access)
        except PrecastError as error:
            self._answers.put(self.name, CachedAnswer(reason=error.message))
            raise
        if detected is None:
            self._answers.put(self.name, CachedAnswer())
            return None
        known = detected.values if isinstance(detected, SourceData) else {}
        values = {capability.value: value for capability, value in known.items() if not callable(value)}
        cached = CachedAnswer(detected.origin, detected.instance_id, tuple(detected.capabilities), values)
        self._answers.put(self.name, cached)
        return RecordedData(self.name, detected, cached, self._answers)

    def cache_timeout(self, reason: str) -> None:
        """Cache that the source timed out. The caller reports it, since a source cannot tell a timeout from a cancellation."""
        self._answers.put(self.name, CachedAnswer(reason=reason))


class RecordedData:
    """A source's data; a value that is fetched later is added to the cache."""

    def __init__(self, name: str, detected: DetectedSource, cached: CachedAnswer, answers: AnswerCache) -> None:
        self._name = name
        self._found = detected
        self._cached = cached
        self._answers = answers
        self.instance_id = detected.instance_id
        self.capabilities = detected.capabilities
        self.origin = detected.origin

    async def get(self, capability: Capability) -> Any:
        value = await self._found.get(capability)
        if capability.value not in self._cached.values and not callable(value):
            self._cached.values[capability.value] = value
            self._answers.put(self._name, self._cached)
        return value


class CachedData:
    """A source's data from an earlier stage of this boot."""

    def __init__(self, source: Source, access: MachineAccess, cached: CachedAnswer, answers: AnswerCache) -> None:
        self._source = source
        self._access = access
        self._cached = cached
        self._answers = answers
        self._asking: asyncio.Task[DetectedSource] | None = None
        self.instance_id = cached.instance_id
        self.capabilities = frozenset(cached.offers)
        self.origin = f"{cached.origin} (cached)"

    async def get(self, capability: Capability) -> Any:
        if capability.value in self._cached.values:
            return _restore(capability, self._cached.values[capability.value])
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
        detected = await asyncio.shield(self._asking)
        return await RecordedData(self._source.name, detected, self._cached, self._answers).get(capability)

    async def _ask(self) -> DetectedSource:
        """Ask the source again. Raises UnavailableError BOOT-100, ConflictError BOOT-115."""
        detected = await self._source.find(self._access)
        if detected is None:
            raise issues.NO_ANSWER.error(url=self._cached.origin, reason="it was here earlier in this boot")
        if detected.instance_id != self.instance_id:
            raise issues.ANOTHER_NOW.error(source=self._source.name, before=self.instance_id, now=detected.instance_id)
        return detected


def _restore(capability: Capability, value: Any) -> Any:
    """Restore a value's type: the file has lists instead of tuples."""
    if capability in _TUPLES:
        return tuple(value)
    return tuple(InjectedFile(*fields) for fields in value) if capability == Capability.FILES else value
