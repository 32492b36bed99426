"""What a node has packed is read as facts, or as nothing."""

import logging
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base import canonical
from precast.store.engine.compression import pack
from precast.store.facts import volatile_parts
from precast.store.facts.volatile_parts import volatile_part
from precast.wire.sessions import MAX_FRAME_BYTES

documents = st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.booleans()), max_size=60)


@given(documents, st.integers(0, 9))
def test_volatile_part_is_what_was_packed_by_whomever(value: dict[str, object], level: int) -> None:
    document = canonical.encode(value)
    assert volatile_part("web1", zlib.compress(document, level)) == document
    assert volatile_part("web1", pack(document)) == document


def test_volatile_part_may_be_as_large_as_a_record_however_well_it_packs() -> None:
    document = canonical.encode({"zeros": "0" * (MAX_FRAME_BYTES - len(b'{"zeros":""}'))})
    assert len(document) == MAX_FRAME_BYTES
    assert volatile_part("web1", pack(document)) == document


def test_volatile_part_of_who_has_sent_none_is_empty() -> None:
    assert volatile_part("web1", None) == b"{}"


WHOLE = zlib.compress(canonical.encode({f"path{number}": number for number in range(50)}))


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"a":1}{}',
        b'{"a":"\xff"}',
        b'{"a":1e999}',
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        random.Random(7).randbytes(400),
        WHOLE[:-1],
        WHOLE + WHOLE,
        zlib.compress(b"[]"),
        zlib.compress(b'{"a":"\\ud800"}'),
        zlib.compress(b'{"a":' * 300 + b"1" + b"}" * 300),
        zlib.compress(b'{"zeros":"' + b"0" * MAX_FRAME_BYTES + b'"}'),
    ],
)
def test_what_is_no_facts_counts_as_nothing_and_is_told_once(stored: bytes, caplog: pytest.LogCaptureFixture) -> None:
    volatile_parts._told.clear()
    with caplog.at_level(logging.WARNING):
        assert [volatile_part("web1", stored) for _ in range(3)] == [b"{}"] * 3
    (line,) = caplog.messages
    assert line.startswith("what web1 sends as its volatile facts is none")
