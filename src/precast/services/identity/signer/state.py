"""The signer's own directory: the journal of tokens, the log, the revocations; and the lock that signers of one directory share."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from precast.base.files import write_private
from precast.services.identity.signer.revocations import RevocationList
from precast.services.identity.signer.signer_log import SignerLog
from precast.services.identity.signer.token_journal import TokenJournal

LOG_BYTES = 16 * 1024**2


class _Held(msgspec.Struct, frozen=True):
    attempt: str
    until: datetime


class RotationLease:
    """Which attempt rotates the authority, between its steps. Every method needs the lock of the directory."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def attempt(self) -> str:
        held = self._read()
        return "" if held is None else held.attempt

    def is_held_by_other(self, attempt: str, now: datetime) -> bool:
        held = self._read()
        return held is not None and held.attempt != attempt and held.until > now

    def set(self, attempt: str, until: datetime) -> None:
        write_private(self._path, msgspec.json.encode(_Held(attempt, until)))

    def _read(self) -> _Held | None:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Held)
        except FileNotFoundError:
            return None


class SignerState:
    """What the signer has written to the disk."""

    def __init__(self, directory: Path, log_bytes: int = LOG_BYTES) -> None:
        self._directory = directory
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = directory / "lock"
        self.log_path = directory / "log.jsonl"
        self.tokens = TokenJournal(directory / "tokens.jsonl")
        self.log = SignerLog(self.log_path, log_bytes)
        self.revocations = RevocationList(directory)
        self.rotation = RotationLease(directory / "rotation.json")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the directory, and read what other signers have written to it."""
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            self.tokens.refresh()
            self.revocations.refresh()
            yield
        finally:
            os.close(handle)

    def flush(self, now: datetime) -> None:
        """Flush everything to the disk; only then may answers leave. Raises OSError."""
        self.tokens.flush(now)
        self.log.flush()
        if os.geteuid() == 0:
            self._give_to_owner()

    def _give_to_owner(self) -> None:
        """A local command of root must not leave files that the signer's own user cannot write."""
        owner = self._directory.parent.stat()
        for path in (self._directory, *self._directory.iterdir()):
            if path.stat().st_uid != owner.st_uid:
                os.chown(path, owner.st_uid, owner.st_gid)
