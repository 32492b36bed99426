"""The signer's own record of tokens: which keys have used an enrolment token, and which tokens are revoked.

The server's database says the same, but the signer does not believe it. The journal is a file of JSON lines that only grows while tokens
are valid: each line is flushed to the disk before a certificate leaves the signer. Several signers of one directory share it: whoever
holds the lock of `SignerState` first reads the lines of the others.
"""

import os
from datetime import datetime
from pathlib import Path

import msgspec

from precast.base.files import flush_directory, write_private

# The file is written again without expired tokens when it is this large and at least half of it has expired.
COMPACT_BYTES = 16 * 1024**2
# Anyone who has the server's socket can revoke tokens: the memory for that is bounded.
MAX_REVOKED = 200_000


class TokenLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One use of an enrolment token by a key, or the revocation of a token if there is no key."""

    id: str
    until: datetime
    key: str = ""


class TokenJournal:
    """The journal of one directory. Every method needs the lock of the directory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._decoder = msgspec.json.Decoder(TokenLine)
        self._pending: list[TokenLine] = []
        self._forget()

    def _forget(self) -> None:
        self._inode, self._offset = 0, 0
        self._keys: dict[str, dict[str, datetime]] = {}
        self._revoked: dict[str, datetime] = {}

    def refresh(self) -> None:
        """Read what other processes have added. A torn last line, which no certificate depends on, is cut off."""
        try:
            with self._path.open("r+b") as file:
                inode = os.fstat(file.fileno()).st_ino
                if inode != self._inode:
                    self._forget()
                    self._inode = inode
                file.seek(self._offset)
                data = file.read()
                whole = data.rfind(b"\n") + 1
                if whole < len(data):
                    file.truncate(self._offset + whole)
        except FileNotFoundError:
            self._forget()
            return
        for line in data[:whole].splitlines():
            self._learn(self._decoder.decode(line))
        self._offset += whole

    def _learn(self, line: TokenLine) -> None:
        if line.key:
            self._keys.setdefault(line.id, {})[line.key] = line.until
        else:
            self._revoked[line.id] = line.until

    def is_revoked(self, token_id: str) -> bool:
        return token_id in self._revoked

    def use(self, token_id: str, key: str, uses: int, until: datetime) -> bool:
        """Count a use of a token by a key, unless this key has used it already; False if no use is left."""
        keys = self._keys.get(token_id, {})
        if key in keys:
            return True
        if len(keys) >= uses:
            return False
        self._add(TokenLine(token_id, until, key))
        return True

    def revoke(self, token_id: str, until: datetime) -> bool:
        """Refuse a token from now on; False if too many are revoked."""
        if token_id in self._revoked:
            return True
        if len(self._revoked) >= MAX_REVOKED:
            return False
        self._add(TokenLine(token_id, until))
        return True

    def _add(self, line: TokenLine) -> None:
        self._learn(line)
        self._pending.append(line)

    def flush(self, now: datetime) -> None:
        """Write what was added, and flush it to the disk. Raises OSError: then nothing that was added may leave the signer."""
        if not self._pending:
            return
        lines, self._pending = self._pending, []
        data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                is_new = os.fstat(handle).st_size == 0
                _write_all(handle, data)
                os.fsync(handle)
            finally:
                os.close(handle)
            if is_new:
                flush_directory(self._path.parent)
        except OSError:
            self._forget()  # what the file contains now is read again
            raise
        if self._offset + len(data) > COMPACT_BYTES:
            self._compact(now)

    def _compact(self, now: datetime) -> None:
        self.refresh()
        lines = [
            TokenLine(token_id, until, key)
            for token_id, keys in self._keys.items()
            for key, until in keys.items()
            if until > now
        ]
        lines += [TokenLine(token_id, until) for token_id, until in self._revoked.items() if until > now]
        data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        if len(data) * 2 < self._offset:
            write_private(self._path, data)
            self._forget()
            self.refresh()


def _write_all(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]
