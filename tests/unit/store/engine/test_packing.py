"""Packed documents are what they were."""

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base import canonical
from precast.store.engine.compression import LARGE_BYTES, MIN_BYTES, pack, unpack, unpack_within

documents = st.dictionaries(st.text(), st.text() | st.integers(), max_size=60) | st.lists(st.text(), max_size=60)


@given(documents)
def test_unpack_of_a_packed_document_is_the_document(value: object) -> None:
    document = canonical.encode(value)
    assert unpack(pack(document)) == document


@pytest.mark.parametrize(("size", "is_packed"), [(MIN_BYTES - 1, False), (MIN_BYTES, True), (LARGE_BYTES, True)])
def test_pack_of_a_document_that_gains_is_smaller(size: int, is_packed: bool) -> None:
    document = b"[" + b"1," * ((size - 3) // 2) + b"1" * (1 + (size - 3) % 2) + b"]"
    assert len(document) == size
    assert (len(pack(document)) < size) is is_packed


@given(st.binary(), st.integers(1, 9))
def test_unpack_within_of_anybodys_stream_is_what_it_holds(document: bytes, level: int) -> None:
    assert unpack_within(zlib.compress(document, level), 1_000_000) == document


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
def test_unpack_within_refuses_what_is_not_one_whole_stream_of_a_sane_size(stream: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        unpack_within(stream, 1_000)
