"""A stored volatile part is decoded to facts, or counts as empty if it is invalid."""

import logging
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base import canonical
from precast.store.engine.compression import compress
from precast.store.facts import volatile_parts
from precast.store.facts.volatile_parts import read_volatile_part
from precast.wire.sessions import MAX_FRAME_BYTES

documents = st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.booleans()), max_size=60)


@given(documents, st.integers(0, 9))
def test_volatile_part_compressed_by_any_program_is_decoded(value: dict[str, object], level: int) -> None:
    document = canonical.encode(value)
    assert read_volatile_part("web1", zlib.compress(document, level)) == document
    assert read_volatile_part("web1", compress(document)) == document


def test_volatile_part_as_large_as_a_frame_is_decoded_however_small_its_stream() -> None:
    document = canonical.encode({"zeros": "0" * (MAX_FRAME_BYTES - len(b'{"zeros":""}'))})
    assert len(document) == MAX_FRAME_BYTES
    assert read_volatile_part("web1", compress(document)) == document


def test_missing_volatile_part_is_empty() -> None:
    assert read_volatile_part("web1", None) == b"{}"


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
def test_invalid_volatile_part_counts_as_empty_and_is_logged_once(
    stored: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    volatile_parts._warned.clear()
    with caplog.at_level(logging.WARNING):
        assert [read_volatile_part("web1", stored) for _ in range(3)] == [b"{}"] * 3
    (line,) = caplog.messages
    assert line.startswith("the volatile facts of web1 are invalid")
