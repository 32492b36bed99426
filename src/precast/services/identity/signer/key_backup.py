"""The site's keys in a backup: the directories `authority` and `signer`, with the journal of tokens and the signer's log.

The files are opened while the signer's locks are held, so they belong together; then they are read, each to the length that it had. Files
that the signer replaces stay readable, and those to which it adds lines only grow.
"""

import contextlib
import fcntl
import os
import pwd
import re
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from cryptography import x509

from precast.base.files import new_directory
from precast.services.identity import certificates, issues
from precast.services.identity.authority_files import AuthorityFiles
from precast.store import issues as store_issues
from precast.store.schema.backup_format import PART_BYTES, FilePart, Header

DIRECTORIES = ("authority", "signer")
LOCK = "lock"
# The signer holds its lock while it writes a few lines. One that does not release it is stuck.
LOCK_S = 30.0
LOCK_STEP_S = 0.05
# Numbers of users are smaller; the largest one of 32 bits stands for none.
NO_USER = 2**32 - 1
_NAME = re.compile(r"(authority|signer)/[\w-][\w.-]{0,99}", re.ASCII)


class _OpenFile(NamedTuple):
    name: str
    mode: int
    size: int
    file: BinaryIO


class KeyFiles:
    """The keys of one site, to be backed up."""

    def __init__(self, place: Path) -> None:
        """Raises NotFoundError CA-044 if there are none, DeniedError CA-045 if this user may not read them."""
        self._place = place
        self._files = AuthorityFiles(place / "authority")
        self._certificate = self._read_certificate()
        self.owner = owner_of(self._files.directory)

    def refuse_other_site(self, location: str, known: Sequence[str]) -> None:
        """Raises ConflictError CA-046 if none of the trusted certificates is one of the database's authorities."""
        own = map(certificates.fingerprint, x509.load_pem_x509_certificates(self._certificate))
        if not set(own) & set(known):
            raise issues.KEYS_OF_OTHER_SITE.error(place=self._files.directory, location=location)

    @contextlib.contextmanager
    def opened(self) -> Iterator[Iterator[FilePart]]:
        """The parts of all files. Raises UnavailableError CA-048 if the authority was rotated since this object was made."""
        with contextlib.ExitStack() as stack:
            with self._explained():
                files = self._open_all(stack)
            yield (part for file in files for part in _read_parts(file))

    def _open_all(self, stack: contextlib.ExitStack) -> list[_OpenFile]:
        with self._signer_locked(), self._files.locked():
            if self._read_certificate() != self._certificate:
                raise issues.KEYS_CHANGED.error()
            paths = [path for name in DIRECTORIES for path in sorted((self._place / name).glob("*"))]
            return [_open(path, stack) for path in paths if path.name != LOCK and path.is_file()]

    @contextlib.contextmanager
    def _signer_locked(self) -> Iterator[None]:
        """Wait until the signer has written what it is writing. A signer that never ran has no lock.

        Raises UnavailableError CA-030 if it holds the lock for longer than `LOCK_S`.
        """
        path = self._place / "signer" / LOCK
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(FileNotFoundError):
                _lock(stack.enter_context(path.open("rb")))
            yield

    def _read_certificate(self) -> bytes:
        with self._explained():
            return self._files.certificate.read_bytes()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            missing = Path(error.filename).relative_to(self._place)
            raise issues.KEYS_MISSING.error(place=self._place, reason=f"there is no {missing}") from None
        except OSError as error:
            raise issues.KEYS_UNREADABLE.error(place=self._place, reason=error.strerror) from None


class KeyPlace:
    """Where the keys of one site are restored to. The directories appear at the end of `filling`, `authority` last, or not at all."""

    def __init__(self, place: Path, *, takes_keys: bool = True) -> None:
        self._place, self.takes_keys = place, takes_keys
        self._stack = contextlib.ExitStack()
        self._drafts: dict[str, Path] = {}
        self._owner: tuple[int, int] | None = None
        self.database_owner: tuple[int, int] | None = None

    @contextlib.contextmanager
    def filled(self) -> "Iterator[KeyPlace]":
        """Let the caller add files, which appear when the block ends.

        Raises ConflictError CA-047 if there are keys by then, UnavailableError CA-050 if they cannot be written.
        """
        with self._explained():
            is_new = not self._place.exists()
            try:
                with self._stack:
                    yield self
                    for draft in self._drafts.values():
                        _give(draft, self._owner)
                if is_new and self._drafts:
                    _give(self._place, self._owner)
            except BaseException:
                # The place itself may have been created for the drafts, which are removed by now. It stays if it has content.
                with contextlib.suppress(OSError):
                    if is_new:
                        self._place.rmdir()
                raise

    def begin(self, header: Header) -> None:
        """Begin, or begin again. Raises ConflictError CA-047 if the backup has keys and there are some already."""
        with self._explained():
            for path in (self._place / name for name in DIRECTORIES):
                if self.takes_keys and header.keys_owner and path.exists() and any(path.iterdir()):
                    raise issues.KEYS_EXIST.error(place=path)
            for draft in self._drafts.values():
                for path in draft.iterdir():
                    path.unlink()
        self.database_owner = _find_owner(header.database_owner, "database")
        self._owner = _find_owner(header.keys_owner, "keys") if self.takes_keys else None

    def write(self, part: FilePart) -> None:
        """Write and flush one part. Raises InputError STORE-033 for a name that no backup has, UnavailableError CA-050."""
        if not self.takes_keys:
            return
        if not _NAME.fullmatch(part.name):
            raise store_issues.BACKUP_BROKEN.error(path="the backup", reason=f"it has a file {part.name[:200]!r}")
        directory, _, name = part.name.partition("/")
        with self._explained():
            if directory not in self._drafts:
                self._drafts[directory] = self._stack.enter_context(new_directory(self._place / directory))
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_APPEND | (os.O_EXCL if part.offset == 0 else 0)
            with os.fdopen(os.open(self._drafts[directory] / name, flags, part.mode & 0o700), "wb") as file:
                file.write(part.data)
                file.flush()
                os.fsync(file.fileno())
                _give_handle(file.fileno(), self._owner)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """An error of a file that is written must not look like one of the backup, which is being read at the same time."""
        try:
            yield
        except FileExistsError as error:
            raise issues.KEYS_EXIST.error(place=error.filename) from None
        except OSError as error:
            raise issues.KEYS_UNWRITABLE.error(place=self._place, reason=error.strerror) from error


def _lock(file: BinaryIO) -> None:
    deadline_s = time.monotonic() + LOCK_S
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline_s:
                raise issues.SIGNER_UNAVAILABLE.error(reason=f"it has held its lock for {LOCK_S:g} s") from None
            time.sleep(LOCK_STEP_S)


def owner_of(path: Path) -> str:
    """The name of a file's owner, or the number if it has none."""
    uid = path.stat().st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _find_owner(name: str, what: str) -> tuple[int, int] | None:
    """The user and group to whom restored files are given; None unless root restores."""
    if os.geteuid() != 0 or not name:
        return None
    if re.fullmatch("[0-9]{1,10}", name) and int(name) < NO_USER:
        return int(name), int(name)
    try:
        user = pwd.getpwnam(name)
    except (KeyError, ValueError):  # ValueError: no name at all
        raise store_issues.UNKNOWN_OWNER.error(name=name[:100], what=what) from None
    return user.pw_uid, user.pw_gid


def _give(path: Path, owner: tuple[int, int] | None) -> None:
    if owner is not None:
        os.chown(path, *owner)


def _give_handle(handle: int, owner: tuple[int, int] | None) -> None:
    if owner is not None:
        os.fchown(handle, *owner)


def _open(path: Path, stack: contextlib.ExitStack) -> _OpenFile:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    file = stack.enter_context(os.fdopen(handle, "rb"))
    status = os.fstat(handle)
    return _OpenFile(f"{path.parent.name}/{path.name}", stat.S_IMODE(status.st_mode), status.st_size, file)


def _read_parts(opened: _OpenFile) -> Iterator[FilePart]:
    """Yield a file in parts, at least one, up to the size that it had when it was opened."""
    offset = 0
    while True:
        data = opened.file.read(min(PART_BYTES, opened.size - offset))
        yield FilePart(opened.name, opened.mode, offset, data)
        offset += len(data)
        if not data or offset >= opened.size:
            return
