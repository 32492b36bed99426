"""Frames of a session: messages are decoded unchanged, unknown fields are ignored, invalid frames are refused."""

from datetime import UTC, datetime

import msgspec
import pytest

from precast.wire import sessions as session
from precast.wire.sessions import Ack, Hello, Record, Welcome

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_decoded_record_has_its_body_unchanged() -> None:
    record = Record(7, session.FACTS, AT, msgspec.Raw(b'{"b": 1, "a": [2]}'))
    came = session.decode_from_node(session.encode(record))
    assert isinstance(came, Record)
    assert (came.number, came.kind, came.at, bytes(came.body)) == (7, "facts", AT, b'{"b": 1, "a": [2]}')


def test_unknown_fields_are_ignored() -> None:
    assert session.decode_from_node(b'{"type": "ack", "through": 3, "colour": "blue"}') == Ack(3)


@pytest.mark.parametrize(
    "frame",
    [b"", b"{}", b"[]", b'{"type": "welcome"}', b'{"type": "ack"}', b'{"type":"ack","through":"3"}', b"\xff", "\ud800"],
)
def test_invalid_frame_raises_value_error(frame: bytes | str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 # whichever subclass: the reader ends the connection
        session.decode_from_node(frame)


def test_message_of_a_server_is_refused_from_a_node() -> None:
    welcome = Welcome(1, 1, "s", 0, 30, 3600, 600)
    assert session.decode_from_server(session.encode(welcome)) == welcome
    with pytest.raises(msgspec.ValidationError):
        session.decode_from_node(session.encode(welcome))
    with pytest.raises(msgspec.ValidationError):
        session.decode_from_server(session.encode(Hello([1], "i", ["a"], "b", "0")))


def test_chosen_version_is_the_newest_that_both_sides_speak() -> None:
    assert session.choose_version([9, 1], known=(3, 2, 1)) == 1
    assert session.choose_version([1, 2], known=(3, 2, 1)) == 2
    assert session.choose_version([2, 1, 3], known=(3, 2, 1)) == 3
    assert session.choose_version([9], known=(3, 2, 1)) is None


def test_this_program_speaks_version_one() -> None:
    assert session.choose_version([2, 1]) == 1
    assert session.choose_version([2]) is None
