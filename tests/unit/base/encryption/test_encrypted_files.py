"""Encrypted files: what is written is read again, and nothing that was changed is."""

import io
import random
import secrets

import pytest

from precast.base.encryption import bech32
from precast.base.encryption.files import CHUNK_BYTES, DecryptedReader, DecryptionError, EncryptedWriter, WrongKeyError
from precast.base.encryption.keys import Identity, Lock, Opener, Passphrase, Recipients

# Little work, so that the tests are quick.
PASSPHRASE = Passphrase(b"correct horse", work=4)


def encrypted(content: bytes, lock: Lock, part: int = 10_000) -> bytes:
    raw = io.BytesIO()
    writer = EncryptedWriter(raw, lock)
    for at in range(0, len(content), part):
        writer.write(content[at : at + part])
    writer.finish()
    return raw.getvalue()


def decrypted(data: bytes, opener: Opener) -> bytes:
    return io.BufferedReader(DecryptedReader(io.BytesIO(data), opener)).read()


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES, 200_000])
def test_content_of_any_size_is_read_as_written(size: int) -> None:
    content = random.Random(size).randbytes(size)
    identities = [Identity.new(secrets), Identity.new(secrets)]
    data = encrypted(content, Recipients.parse([identity.recipient for identity in identities]))
    assert all(decrypted(data, identity) == content for identity in identities)
    assert decrypted(encrypted(content, PASSPHRASE), PASSPHRASE) == content
    assert content[:50] not in data or size < 8


def test_other_key_or_passphrase_is_refused() -> None:
    own = Identity.new(secrets)
    data = encrypted(b"keys", Recipients.parse([own.recipient]))
    for opener in (Identity.new(secrets), PASSPHRASE):
        with pytest.raises(WrongKeyError):
            decrypted(data, opener)
    data = encrypted(b"keys", PASSPHRASE)
    for opener in (own, Passphrase(b"wrong horse")):
        with pytest.raises(WrongKeyError):
            decrypted(data, opener)


def test_every_truncation_and_every_changed_byte_is_refused() -> None:
    content = b"k" * (2 * CHUNK_BYTES)
    data = encrypted(content, PASSPHRASE)
    places = [*range(300), *range(300, len(data), 997), len(data) - 1]
    for place in places:
        with pytest.raises(DecryptionError):
            decrypted(data[:place], PASSPHRASE)
        changed = bytearray(data)
        changed[place] ^= 1
        with pytest.raises(DecryptionError):
            decrypted(bytes(changed), PASSPHRASE)
    with pytest.raises(DecryptionError):
        decrypted(data + b"x", PASSPHRASE)


def test_chunks_in_another_order_are_refused() -> None:
    data = encrypted(b"a" * CHUNK_BYTES + b"b" * CHUNK_BYTES + b"c", PASSPHRASE)
    size = CHUNK_BYTES + 16
    first = len(data) - 2 * size - 17
    swapped = data[:first] + data[first + size : first + 2 * size] + data[first : first + size] + data[-17:]
    assert len(swapped) == len(data)
    with pytest.raises(DecryptionError):
        decrypted(swapped, PASSPHRASE)


def test_passphrase_that_demands_too_much_memory_is_refused() -> None:
    data = encrypted(b"", PASSPHRASE).replace(b" 4\n", b" 30\n", 1)
    with pytest.raises(DecryptionError, match="more memory"):
        decrypted(data, PASSPHRASE)


def test_key_as_text_is_read_again_and_a_typing_error_is_found() -> None:
    identity = Identity.new(secrets)
    assert Identity.parse(f"# created: today\n\n{identity.text}\n").recipient == identity.recipient
    for text in (identity.recipient[:-1] + "b", identity.recipient.replace("age1", "age2"), "", "age1", "Age1qqqqqq"):
        with pytest.raises(ValueError, match="it "):
            Recipients.parse([text])
    with pytest.raises(ValueError, match="no key"):
        Identity.parse("# nothing\n")


@pytest.mark.parametrize("text", ["A12UEL5L", "a12uel5l", "?1ezyfcl", "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"])
def test_published_examples_of_bech32_are_valid(text: str) -> None:
    prefix = text.lower().rpartition("1")[0]
    assert bech32.encode(prefix, bech32.decode(prefix, text)) == text.lower()
