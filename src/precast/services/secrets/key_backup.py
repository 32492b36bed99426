"""The secrets key in a backup, beside the site's other keys; only on demand, because with it a backup opens every secret of its rows."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from precast.base.files import make_directories, new_file
from precast.services.identity.signer.key_backup import KeyFiles, KeyPlace
from precast.services.secrets import issues
from precast.services.secrets.key_source import MAX_BYTES, KeyFile
from precast.store import issues as store_issues
from precast.store.schema.backup_format import FilePart, Header

# The name of the file in a backup, whatever its name on the server.
NAME = "secrets.key"


class KeyFilesWithSecrets:
    """The keys of a site and its secrets key, to be backed up."""

    def __init__(self, keys: KeyFiles, file: KeyFile) -> None:
        """Raises UnavailableError SECRET-002 if the file has no key that can be read."""
        self._keys, self._file = keys, file
        self.owner = keys.owner
        if file.read() is None:
            raise issues.KEYS_UNREADABLE.error(source=file, reason="there is no such file")

    @contextlib.contextmanager
    def opened(self) -> Iterator[Iterator[FilePart]]:
        with self._keys.opened() as parts:
            yield self._with_secrets(parts)

    def _with_secrets(self, parts: Iterator[FilePart]) -> Iterator[FilePart]:
        yield from parts
        yield FilePart(NAME, 0o600, 0, self._file.path.read_bytes()[:MAX_BYTES])


class KeyPlaceWithSecrets:
    """Where the keys of a site and its secrets key are restored to; the latter belongs to the owner of the database."""

    def __init__(self, place: KeyPlace, path: Path) -> None:
        self._place, self._path = place, path
        self._data: bytes | None = None

    @contextlib.contextmanager
    def filled(self) -> Iterator[None]:
        """As `KeyPlace.filled`; the file appears before the directories. Raises ConflictError SECRET-005 if there is another one."""
        with self._place.filled():
            yield
            if self._data is not None and self._place.takes_keys:
                self._write(self._data)

    def begin(self, header: Header) -> None:
        self._data = None
        self._place.begin(header)

    def write(self, part: FilePart) -> None:
        """Raises what `KeyPlace.write` raises, and ConflictError SECRET-005."""
        if part.name != NAME:
            self._place.write(part)
            return
        if part.offset or len(part.data) > MAX_BYTES:
            raise store_issues.BACKUP_BROKEN.error(path="the backup", reason=f"its {NAME} is too long")
        self._data = part.data
        if self._place.takes_keys:
            self._refuse_other(part.data)

    def _refuse_other(self, data: bytes) -> None:
        with self._explained():
            if self._path.exists() and self._path.read_bytes() != data:
                raise issues.KEY_EXISTS.error(path=self._path)

    def _write(self, data: bytes) -> None:
        """Write and flush the file, unless it is there already with the same content."""
        with self._explained(), contextlib.suppress(FileExistsError):
            make_directories(self._path.parent)
            with new_file(self._path) as draft:
                draft.write_bytes(data)
                with draft.open("rb") as written:
                    os.fsync(written.fileno())
                if self._place.database_owner is not None:
                    os.chown(draft, *self._place.database_owner)
        self._refuse_other(data)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise issues.KEYS_UNREADABLE.error(source=self._path, reason=error.strerror) from error
