"""Writes and reads an encrypted file as a stream, 64 KiB at a time.

The file begins with a header that contains the wrapped key of the file, authenticated by that key. The content follows in chunks; each is
encrypted and authenticated with its number, and the last one is marked. So a file that was changed, reordered, truncated or extended is
refused, at the first chunk that is not as it was written.
"""

import io
import secrets
from collections.abc import Iterator
from typing import BinaryIO

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from precast.base.encryption import text64
from precast.base.encryption.keys import FILE_KEY_BYTES, Lock, Opener, Random, Stanza

MAGIC = b"age-encryption.org/v1\n"
CHUNK_BYTES = 64 * 1024
_TAG_BYTES = 16
_NONCE_BYTES = 16
_COLUMNS = 64
# A header has one short stanza for each recipient.
_MAX_LINE = 256
_MAX_LINES = 1000


class DecryptionError(Exception):
    """A file cannot be decrypted: its text says why."""


class WrongKeyError(DecryptionError):
    """The file is encrypted to somebody else, or the passphrase is wrong."""


class EncryptedWriter(io.RawIOBase):
    """Encrypts what is written to it into another file. `finish` writes the last chunk; the other file stays open."""

    def __init__(self, file: BinaryIO, lock: Lock, random: Random = secrets) -> None:
        super().__init__()
        self._file = file
        file_key, nonce = random.token_bytes(FILE_KEY_BYTES), random.token_bytes(_NONCE_BYTES)
        file.write(_write_header(file_key, lock.wrap(file_key, random)) + nonce)
        self._cipher, self._number = ChaCha20Poly1305(_derive(file_key, nonce, b"payload")), 0
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        view = memoryview(data).cast("B")  # type: ignore[arg-type] # the declaration of the base class is wider
        self._held += view
        # The last chunk is marked as the last and is not empty: as long as more may follow, one byte too many is held.
        while len(self._held) > CHUNK_BYTES:
            self._write_chunk(bytes(self._held[:CHUNK_BYTES]), is_last=False)
            del self._held[:CHUNK_BYTES]
        return len(view)

    def finish(self) -> None:
        """Write the last chunk. A file without it is truncated."""
        self._write_chunk(bytes(self._held), is_last=True)
        self._held.clear()

    def _write_chunk(self, chunk: bytes, *, is_last: bool) -> None:
        self._file.write(self._cipher.encrypt(_chunk_nonce(self._number, is_last=is_last), chunk, None))
        self._number += 1


class DecryptedReader(io.RawIOBase):
    """Reads the content of an encrypted file."""

    def __init__(self, file: BinaryIO, opener: Opener) -> None:
        """Raises DecryptionError."""
        super().__init__()
        file_key = _read_header(file, opener)
        nonce = file.read(_NONCE_BYTES)
        if len(nonce) != _NONCE_BYTES:
            raise DecryptionError("it is truncated")
        self._chunks = _read_chunks(file, ChaCha20Poly1305(_derive(file_key, nonce, b"payload")))
        self._held = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        """Raises DecryptionError."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type] # the declaration of the base class is wider
        while not self._held:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._held = memoryview(chunk)
        count = min(len(view), len(self._held))
        view[:count] = self._held[:count]
        self._held = self._held[count:]
        return count


def _read_chunks(file: BinaryIO, cipher: ChaCha20Poly1305) -> Iterator[bytes]:
    """Yield the content of each chunk, and read until the end of the file."""
    size = CHUNK_BYTES + _TAG_BYTES
    number, encrypted = 0, _read_fully(file, size)
    while True:
        following = _read_fully(file, size) if len(encrypted) == size else b""
        is_last = not following
        try:
            chunk = cipher.decrypt(_chunk_nonce(number, is_last=is_last), encrypted, None)
        except InvalidTag:
            raise DecryptionError("it is damaged or truncated") from None
        if not chunk and number:
            raise DecryptionError("it is damaged or truncated")
        yield chunk
        if is_last:
            return
        number, encrypted = number + 1, following


def _read_fully(file: BinaryIO, size: int) -> bytes:
    """Read from a file or a pipe, which may give less at once."""
    data = b""
    while len(data) < size and (part := file.read(size - len(data))):
        data += part
    return data


def _chunk_nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(11) + bytes([is_last])


def _derive(file_key: bytes, salt: bytes, purpose: bytes) -> bytes:
    return HKDF(hashes.SHA256(), 32, salt, purpose).derive(file_key)


def _authenticate(file_key: bytes, header: bytes) -> hmac.HMAC:
    code = hmac.HMAC(_derive(file_key, b"", b"header"), hashes.SHA256())
    code.update(header)
    return code


def _write_header(file_key: bytes, stanzas: list[Stanza]) -> bytes:
    lines = [MAGIC]
    for stanza in stanzas:
        lines.append(f"-> {' '.join(stanza.arguments)}\n".encode())
        body = text64.encode(stanza.body)
        # A body ends with a line that is not full, if need be an empty one.
        lines += [f"{body[at : at + _COLUMNS]}\n".encode() for at in range(0, len(body) + 1, _COLUMNS)]
    header = b"".join(lines) + b"---"
    return header + b" " + text64.encode(_authenticate(file_key, header).finalize()).encode() + b"\n"


def _read_header(file: BinaryIO, opener: Opener) -> bytes:
    """The key of the file."""
    try:
        header, stanzas, code = _parse_header(file)
        file_key = opener.unwrap(stanzas)
    except ValueError as error:
        raise DecryptionError(str(error)) from None
    if file_key is None:
        raise WrongKeyError("the key or passphrase is not the one that it is encrypted to")
    try:
        _authenticate(file_key, header).verify(code)
    except InvalidSignature:
        raise DecryptionError("its header is damaged") from None
    return file_key


def _parse_header(file: BinaryIO) -> tuple[bytes, list[Stanza], bytes]:
    """The authenticated part of the header, its stanzas, and its authentication code. Raises ValueError."""
    if file.readline(_MAX_LINE) != MAGIC:
        raise ValueError("it is not an encrypted file")
    header, stanzas = bytearray(MAGIC), list[Stanza]()
    body: str | None = None  # of the stanza whose body is not complete
    for _ in range(_MAX_LINES):
        line = file.readline(_MAX_LINE)
        if not line.endswith(b"\n") or not line.isascii():
            break
        text = line[:-1].decode()
        if body is not None:
            body += text
            if len(text) > _COLUMNS:
                break
            if len(text) < _COLUMNS:
                stanzas[-1] = stanzas[-1]._replace(body=text64.decode(body))
                body = None
        elif text.startswith("-> ") and all(arguments := text[3:].split(" ")):
            stanzas.append(Stanza(arguments, b""))
            body = ""
        elif text.startswith("--- ") and stanzas:
            return bytes(header) + b"---", stanzas, text64.decode(text[4:])
        else:
            break
        header += line
    raise ValueError("its header is damaged")
