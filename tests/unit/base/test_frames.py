"""Frames: a message is read whole, and a length beyond the limit is refused before anything is read."""

import io

import pytest

from precast.base.frames import LENGTH_BYTES, BadFrame, frame_length, make_frame, read_frame


def test_messages_are_read_one_after_the_other() -> None:
    stream = io.BytesIO(make_frame(b"one") + make_frame(b"") + make_frame(b"two"))
    assert [read_frame(stream) for _ in range(4)] == [b"one", b"", b"two", None]


@pytest.mark.parametrize("cut", range(1, LENGTH_BYTES + 3))
def test_stream_that_ends_within_a_message_has_ended(cut: int) -> None:
    assert read_frame(io.BytesIO(make_frame(b"one")[:cut])) is None


def test_message_beyond_the_limit_is_refused_before_it_is_read() -> None:
    assert frame_length(make_frame(b"x" * 10)[:LENGTH_BYTES], 10) == 10
    stream = io.BytesIO(b"\xff" * LENGTH_BYTES + b"rest")
    with pytest.raises(BadFrame, match="a message of 4294967295 bytes is too long"):
        read_frame(stream)
    assert stream.read() == b"rest"
