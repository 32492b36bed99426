"""Gives sources access to the machine: files below a root, disks, HTTP servers, programs. Every access is bounded in size and time.

ISO 9660 and FAT images are read without mounting them; others are mounted read-only.

A file is always read below the root: a symbolic link in a seed directory or on an untrusted disk that points outside is resolved within
the root.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from precast.base import programs
from precast.base.clock import Clock, SystemClock
from precast.base.errors import NotFoundError, PrecastError
from precast.boot.sources import fat, iso9660, issues, web
from precast.boot.sources.contract import Evidence, HttpAnswer, RetryPolicy
from precast.resources.files import issues as file_issues
from precast.resources.files import safe_reads

if TYPE_CHECKING:
    import ssl

MAX_FILE_BYTES = 64 * 1024
MAX_ANSWER_BYTES = 8 * 1024 * 1024
MOUNT_DEADLINE_S = 10.0
COMMAND_DEADLINE_S = 5.0
# The file system of images that must be mounted; an untrusted image is given to no other driver unless its source asks for it.
FILE_SYSTEM = "ext4"


class Machine:
    """The MachineAccess of a real machine, or of a directory that stands for one."""

    def __init__(
        self,
        root: Path,
        evidence: Evidence,
        clock: Clock | None = None,
        context: "ssl.SSLContext | None" = None,
    ) -> None:
        self.root = root
        self.evidence = evidence
        self.clock = clock or SystemClock()
        self._context = context

    def read(self, path: str, max_bytes: int = MAX_FILE_BYTES) -> bytes | None:
        place = "/" + path.lstrip("/")
        try:
            content = safe_reads.read_file(safe_reads.root_parents(str(self.root)), place, max_bytes=max_bytes)
        except OSError as error:
            raise issues.UNREADABLE.error(path=place, reason=error.strerror) from None
        except NotFoundError:
            return None  # a directory or a pipe in place of the file
        except PrecastError as error:
            if file_issues.TOO_LARGE.matches(error):
                raise issues.TOO_LARGE.error(where=place, limit=max_bytes) from None
            raise
        return None if content is None else content.data

    @contextlib.asynccontextmanager
    async def mounted(self, device: Path, file_system: str = FILE_SYSTEM) -> AsyncIterator["Machine"]:
        for kind in (iso9660.Image, fat.Image):
            try:
                with kind.opened(device) as image:
                    if image.is_one:
                        yield DiskImage(image, device, self)
                        return
            except OSError as error:
                raise issues.UNREADABLE.error(path=device, reason=error.strerror) from None
        with tempfile.TemporaryDirectory(prefix="precast-boot-", ignore_cleanup_errors=True) as name:
            place = Path(name)
            await asyncio.to_thread(_mount, device, place, file_system)
            try:
                yield Machine(place, self.evidence, self.clock, self._context)
            finally:
                await asyncio.shield(asyncio.to_thread(_unmount, place))

    async def ask(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        method: str = "GET",
        body: bytes = b"",
        retry_policy: RetryPolicy = RetryPolicy(),  # noqa: B008 - frozen
        max_bytes: int = MAX_ANSWER_BYTES,
    ) -> HttpAnswer:
        """See `MachineAccess.ask`. With retries it asks until it is cancelled, so the caller sets a deadline."""
        while True:
            try:
                async with asyncio.timeout(retry_policy.timeout_s):
                    answer = await web.ask(url, method, headers or {}, body, max_bytes, self._context)
                if answer.status < 500:
                    return answer
                reason = f"its status is {answer.status}"
            except TimeoutError:
                reason = f"nothing for {retry_policy.timeout_s:g} s"
            except (OSError, EOFError) as error:
                reason = _describe_error(error)
            if not retry_policy.is_retried:
                raise issues.NO_ANSWER.error(url=url, reason=reason)
            await asyncio.sleep(retry_policy.pause_s)

    async def command(self, words: list[str], max_bytes: int = MAX_ANSWER_BYTES) -> bytes | None:
        if self.root != Path("/"):  # the programs of a scratch root do not describe the machine
            return None
        try:
            ended = await asyncio.to_thread(programs.run, words, COMMAND_DEADLINE_S, max_bytes)
        except (OSError, TimeoutError):
            return None
        return ended.out if ended.code == 0 and len(ended.out) <= max_bytes else None


class Image(Protocol):
    """The files of an image that is read without mounting it."""

    def size(self, path: str) -> int | None: ...

    def read(self, path: str) -> bytes | None: ...


class DiskImage(Machine):
    """The same machine, with the files of an image instead of its own."""

    def __init__(self, image: Image, device: Path, machine: Machine) -> None:
        super().__init__(machine.root, machine.evidence, machine.clock, machine._context)
        self._image = image
        self._device = device

    def read(self, path: str, max_bytes: int = MAX_FILE_BYTES) -> bytes | None:
        size = self._image.size(path)
        if size is not None and size > max_bytes:
            raise issues.TOO_LARGE.error(where=f"{path} on {self._device}", limit=max_bytes)
        return self._image.read(path)


def _mount(device: Path, place: Path, file_system: str) -> None:
    options = "ro,nosuid,nodev,noexec" + ("" if device.is_block_device() else ",loop")
    words = ["mount", "-t", file_system, "-o", options, str(device), str(place)]
    try:
        ended = programs.run(words, MOUNT_DEADLINE_S, 10_000)
    except (OSError, TimeoutError) as error:
        raise issues.CANNOT_MOUNT.error(device=device, reason=str(error) or "it takes too long") from None
    if ended.code != 0:
        reason = ended.error.decode(errors="replace").strip().partition("\n")[0] or f"exit code {ended.code}"
        raise issues.CANNOT_MOUNT.error(device=device, reason=reason)


def _unmount(place: Path) -> None:
    with contextlib.suppress(OSError, TimeoutError):
        programs.run(["umount", str(place)], MOUNT_DEADLINE_S, 10_000)


def _describe_error(error: BaseException) -> str:
    if isinstance(error, asyncio.IncompleteReadError):
        return "the answer is incomplete" if error.partial else "it closed the connection"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
