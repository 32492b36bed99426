"""Where the master keys of secrets come from: a file that only the server's user may read, or a command of a key management service.

They are never an argument or a variable, which other processes could read.
"""

import contextlib
import os
import secrets
import shlex
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from precast.base import programs
from precast.base.encryption.keys import Random
from precast.base.files import make_directories, new_file, write_owned
from precast.services.secrets import issues
from precast.services.secrets.keys import MasterKey, parse_master_keys

MAX_BYTES = 16 * 1024
COMMAND_S = 60.0
FILE_HEAD = """\
# The secrets key of this site. Everything that opens the secrets of its database is here: keep a copy in a safe place, on no disk that
# has a backup of the database. All servers of the site have the same file. The first key wraps; the others only open.
"""


# Changes when the keys may have changed.
Stamp = tuple[int, ...]


class KeySource(Protocol):
    """Gives the master keys as they are now."""

    # After this time the keys are read again although the stamp is the same.
    read_every_s: float

    def stamp(self) -> Stamp:
        """What tells whether the keys may have changed, without reading them."""

    def read(self) -> tuple[MasterKey, ...] | None:
        """The keys, the current one first; None if there are none yet. Raises UnavailableError SECRET-002."""

    def create(self) -> None:
        """Make the first key, if this source can; a source that has keys keeps them."""


class KeyFile:
    """Keys in a file with mode 0600."""

    read_every_s = float("inf")

    def __init__(self, path: Path, random: Random = secrets) -> None:
        self.path, self._random = path, random

    def __str__(self) -> str:
        return str(self.path)

    def stamp(self) -> Stamp:
        try:
            status = self.path.stat()
        except OSError:
            return ()
        return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size

    def read(self) -> tuple[MasterKey, ...] | None:
        try:
            with self.path.open("rb") as file:
                if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                    reason = "others may read it: its mode must be 0600"
                    raise issues.KEYS_UNREADABLE.error(source=self, reason=reason)
                return _parse(self, file.read(MAX_BYTES + 1))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise issues.KEYS_UNREADABLE.error(source=self, reason=error.strerror) from error

    def replace(self, keys: Sequence[MasterKey]) -> None:
        """Write other keys. The file keeps its owner. Raises UnavailableError SECRET-002."""
        try:
            status = self.path.stat()
            write_owned(self.path, format_key_file(keys).encode(), 0o600, (status.st_uid, status.st_gid))
        except OSError as error:
            raise issues.KEYS_UNREADABLE.error(source=self, reason=error.strerror) from error

    def create(self) -> None:
        """Write a new key to the file and flush it, unless there is a file. Raises UnavailableError SECRET-002."""
        text = format_key_file([MasterKey.new(self._random)])
        try:
            make_directories(self.path.parent)
            with contextlib.suppress(FileExistsError), new_file(self.path) as draft:
                draft.write_text(text)
                with draft.open("rb") as written:
                    os.fsync(written.fileno())
        except OSError as error:
            raise issues.KEYS_UNREADABLE.error(source=self, reason=error.strerror) from error


class KeyCommand:
    """Keys that a command prints in the form of a key file."""

    read_every_s = 600.0

    def __init__(self, command: str) -> None:
        self._command = command

    def __str__(self) -> str:
        return "the command of secrets_key_command"

    def stamp(self) -> Stamp:
        return ()

    def read(self) -> tuple[MasterKey, ...] | None:
        try:
            done = programs.run(shlex.split(self._command), COMMAND_S, MAX_BYTES)
        except (ValueError, IndexError, OSError) as error:  # OSError includes TimeoutError
            raise issues.KEYS_UNREADABLE.error(source=self, reason=str(error) or "it took too long") from None
        if done.code != 0:
            raise issues.KEYS_UNREADABLE.error(source=self, reason=f"it ended with exit code {done.code}")
        return _parse(self, done.out)

    def create(self) -> None:
        """A command has its keys from elsewhere."""


def format_key_file(keys: Sequence[MasterKey]) -> str:
    return FILE_HEAD + "".join(f"{key.line}\n" for key in keys)


def _parse(source: object, data: bytes) -> tuple[MasterKey, ...]:
    try:
        if len(data) > MAX_BYTES:
            raise ValueError("it is too long")
        return parse_master_keys(data.decode("ascii"))
    except UnicodeDecodeError:
        raise issues.KEYS_UNREADABLE.error(source=source, reason="it is not text") from None
    except ValueError as error:
        raise issues.KEYS_UNREADABLE.error(source=source, reason=error) from None
