"""The frames that the server encodes by hand are valid: the agent's websocket library reads them."""

import pytest
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from precast.api.sessions import frames


@pytest.mark.parametrize("size_bytes", [0, 1, 125, 126, 127, 65_535, 65_536, 512 * 1024])
def test_frame_is_read_as_what_was_written(size_bytes: int) -> None:
    first, second = bytes(index % 251 for index in range(size_bytes)), b"and on"
    reader = ClientProtocol(parse_uri("ws://localhost/"), state=State.OPEN, max_size=None)
    reader.receive_data(frames.encode_binary(first) + frames.encode_binary(second))
    assert reader.events_received() == [Frame(Opcode.BINARY, first), Frame(Opcode.BINARY, second)]
