"""Compression of documents: a decompressed document equals the original."""

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base import canonical
from precast.store.engine.compression import LARGE_BYTES, MIN_BYTES, compress, decompress, decompress_bounded

documents = st.dictionaries(st.text(), st.text() | st.integers(), max_size=60) | st.lists(st.text(), max_size=60)


@given(documents)
def test_decompressed_document_equals_the_original(value: object) -> None:
    document = canonical.encode(value)
    assert decompress(compress(document)) == document


@pytest.mark.parametrize(("size", "is_packed"), [(MIN_BYTES - 1, False), (MIN_BYTES, True), (LARGE_BYTES, True)])
def test_compressed_document_is_smaller_from_the_minimum_size_on(size: int, is_packed: bool) -> None:
    document = b"[" + b"1," * ((size - 3) // 2) + b"1" * (1 + (size - 3) % 2) + b"]"
    assert len(document) == size
    assert (len(compress(document)) < size) is is_packed


@given(st.binary(), st.integers(1, 9))
def test_bounded_decompression_accepts_any_zlib_stream(document: bytes, level: int) -> None:
    assert decompress_bounded(zlib.compress(document, level), 1_000_000) == document


STREAM = zlib.compress(b"[1,2,3]" * 20)


@pytest.mark.parametrize(
    "stream",
    [
        b"",
        b"{}",
        b"x",
        STREAM[:-1],
        STREAM[:2],
        STREAM + b"more",
        STREAM[:-1] + bytes([STREAM[-1] ^ 1]),
        zlib.compress(bytes(1_000_000)),
        zlib.compress(random.Random(7).randbytes(1_001)),
    ],
)
def test_bounded_decompression_refuses_incomplete_and_oversized_streams(stream: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decompress_bounded(stream, 1_000)
