"""Packed documents are what they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base import canonical
from precast.store.packing import MIN_BYTES, pack, unpack

documents = st.dictionaries(st.text(), st.text() | st.integers(), max_size=60) | st.lists(st.text(), max_size=60)


@given(documents)
def test_unpack_of_a_packed_document_is_the_document(value: object) -> None:
    document = canonical.encode(value)
    assert unpack(pack(document)) == document


@pytest.mark.parametrize(("size", "is_packed"), [(MIN_BYTES - 1, False), (MIN_BYTES, True), (20_000, True)])
def test_pack_of_a_document_that_gains_is_smaller(size: int, is_packed: bool) -> None:
    document = b"[" + b"1," * ((size - 3) // 2) + b"1" * (1 + (size - 3) % 2) + b"]"
    assert len(document) == size
    assert (len(pack(document)) < size) is is_packed
