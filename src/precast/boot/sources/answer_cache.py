"""Keeps what sources said in one stage for the later stages of the same boot, so that nobody is asked twice.

One file that only root reads: there are user data and passwords in it. So it is there only between the stages: the last one takes it away
when it begins, and a boot without stages writes none. It counts for one start of one machine, which is the kernel's number
of the boot, the start of the first process (a container shares the kernel's number with its host) and what the firmware calls the
machine. So a copy of the disk, started as another machine, never believes what was said to the first. A file that is torn or of another
boot is none.

What cannot be kept (a way to tell the platform something) and what nobody has fetched yet is asked of the source again when somebody
wants it; if that then speaks of another instance, it is refused. Sources that were not here are not asked again, if another said whose
machine this is.
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
_STARTED = 22  # the field of the start, in ticks since the kernel began
_TUPLES = frozenset({Capability.PUBLIC_KEYS, Capability.CERTIFICATES})


class CachedAnswer(msgspec.Struct):
    """What came of one source. Without `offers` it was not here, or `reason` says why it is not believed."""

    origin: str = ""
    instance_id: str | None = None
    offers: tuple[Capability, ...] = ()
    values: dict[str, Any] = {}
    reason: str = ""


class _File(msgspec.Struct):
    start: str
    sources: dict[str, CachedAnswer] = {}


def identify_start(root: Path, boot_id: str, evidence: Evidence) -> str:
    """What is the same in all stages of one boot, and in no other; empty where nothing was booted."""
    if not boot_id:
        return ""
    try:
        fields = (root / _FIRST_PROCESS).read_text(errors="replace").rpartition(")")[2].split()
        started = fields[_STARTED - 3]  # the first two stand before the bracket
    except (OSError, IndexError):
        started = ""
    names = [f"{name}={value}" for name, value in sorted(evidence.dmi.items())]
    return hashlib.sha256("\n".join([boot_id, started, evidence.command_line, *names]).encode()).hexdigest()


class AnswerCache:
    """The file of one root. Not `is_continued`: this is the first stage, and what an earlier run kept does not count.

    With `is_last` nobody comes after this stage, so what it read from the file is all that is left of it.
    """

    def __init__(self, directory: Path, start: str, is_continued: bool, is_last: bool = False) -> None:
        self._path = directory / FILE
        self._is_removed = not is_continued or is_last
        self._is_last = is_last
        self._file = self._read(start) if is_continued else _File(start)

    def _read(self, start: str) -> _File:
        try:
            found = msgspec.msgpack.decode(self._path.read_bytes(), type=_File)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return _File(start)
        return found if found.start == start else _File(start)

    def of(self, name: str) -> CachedAnswer | None:
        """What a source said; None if it is to be asked."""
        kept = self._file.sources.get(name)
        knows_machine = any(each.instance_id is not None for each in self._file.sources.values())
        return kept if kept is not None and (kept.offers or knows_machine) else None

    def begin(self) -> None:
        """Remove what an earlier run kept, if this is the first stage or the last."""
        if self._is_removed:
            self._is_removed = False
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)

    def keep(self, name: str, kept: CachedAnswer) -> None:
        """Note what a source said. Where it cannot be written, a later stage asks again."""
        self._file.sources[name] = kept
        if self._is_last:
            return
        # A seed may hold what the format has no place for: numbers of any size, halves of surrogate pairs, itself.
        with contextlib.suppress(OSError, ValueError, OverflowError, TypeError, RecursionError):
            files.write_private(self._path, msgspec.msgpack.encode(self._file, enc_hook=str))


class CachingSource:
    """A source whose answers are kept; what was kept is not asked again."""

    def __init__(self, source: Source, answers: AnswerCache) -> None:
        self._source = source
        self._answers = answers
        self.name = source.name
        self.rank = source.rank
        self.capabilities = source.capabilities
        self.likelihood = source.likelihood
        self.deadline_s = source.deadline_s
        self.needs_network = source.needs_network and answers.of(source.name) is None

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        self._answers.begin()
        kept = self._answers.of(self.name)
        if kept is not None:
            if not kept.offers and not kept.reason:
                return None
            if not kept.offers:
                raise issues.ABSENT_BEFORE.error(reason=kept.reason)
            return CachedData(self._source, access, kept, self._answers)
        try:
            found = await self._source.find(access)
        except PrecastError as error:
            self._answers.keep(self.name, CachedAnswer(reason=error.message))
            raise
        if found is None:
            self._answers.keep(self.name, CachedAnswer())
            return None
        known = found.values if isinstance(found, SourceData) else {}
        values = {one.value: value for one, value in known.items() if not callable(value)}
        kept = CachedAnswer(found.origin, found.instance_id, tuple(found.capabilities), values)
        self._answers.keep(self.name, kept)
        return RecordedData(self.name, found, kept, self._answers)

    def keep_late(self, reason: str) -> None:
        """Note that it did not answer in time. Who asks says so: a source cannot tell its deadline from being let go."""
        self._answers.keep(self.name, CachedAnswer(reason=reason))


class RecordedData:
    """What a source found; a value that is fetched later is kept then."""

    def __init__(self, name: str, found: DetectedSource, kept: CachedAnswer, answers: AnswerCache) -> None:
        self._name = name
        self._found = found
        self._kept = kept
        self._answers = answers
        self.instance_id = found.instance_id
        self.capabilities = found.capabilities
        self.origin = found.origin

    async def get(self, capability: Capability) -> Any:
        value = await self._found.get(capability)
        if capability.value not in self._kept.values and not callable(value):
            self._kept.values[capability.value] = value
            self._answers.keep(self._name, self._kept)
        return value


class CachedData:
    """What a source said in an earlier stage of this boot."""

    def __init__(self, source: Source, access: MachineAccess, kept: CachedAnswer, answers: AnswerCache) -> None:
        self._source = source
        self._access = access
        self._kept = kept
        self._answers = answers
        self._asking: asyncio.Task[DetectedSource] | None = None
        self.instance_id = kept.instance_id
        self.capabilities = frozenset(kept.offers)
        self.origin = f"{kept.origin} (kept)"

    async def get(self, capability: Capability) -> Any:
        if capability.value in self._kept.values:
            return _restore(capability, self._kept.values[capability.value])
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
        found = await asyncio.shield(self._asking)
        return await RecordedData(self._source.name, found, self._kept, self._answers).get(capability)

    async def _ask(self) -> DetectedSource:
        """Ask the source again. Raises UnavailableError BOOT-100, ConflictError BOOT-115."""
        found = await self._source.find(self._access)
        if found is None:
            raise issues.NO_ANSWER.error(url=self._kept.origin, reason="it was here earlier in this boot")
        if found.instance_id != self.instance_id:
            raise issues.ANOTHER_NOW.error(source=self._source.name, before=self.instance_id, now=found.instance_id)
        return found


def _restore(capability: Capability, value: Any) -> Any:
    """A value as the source gave it: the file has lists for tuples."""
    if capability in _TUPLES:
        return tuple(value)
    return tuple(InjectedFile(*one) for one in value) if capability == Capability.FILES else value
