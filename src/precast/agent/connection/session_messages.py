"""The messages between root and the network process of a session: frames of the websocket as they are, and how the connection ended."""

from typing import Annotated

import msgspec

from precast.agent.network.messages import Message, Started
from precast.wire.sessions import MAX_FRAME_BYTES

_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e7)]


class Open(Message, frozen=True):
    """Root asks for a connection to a server."""

    url: str


class Opened(Message, frozen=True):
    """The websocket is open."""


class Frame(Message, frozen=True):
    """A frame of the websocket, in either direction."""

    data: Annotated[bytes, msgspec.Meta(max_length=MAX_FRAME_BYTES)]


class Ping(Message, frozen=True):
    """Root asks whether the server is still there."""


class Pong(Message, frozen=True):
    """The server has answered the last ping."""


class Close(Message, frozen=True):
    """Root asks to close the connection."""


class Ended(Message, frozen=True):
    """The connection has ended, or could not be opened: the value of an `EndReason`, why, and when to retry if the server said so."""

    reason: Annotated[str, msgspec.Meta(max_length=40)]
    why: Annotated[str, msgspec.Meta(max_length=2_000)]
    retry_range_s: tuple[_Seconds, _Seconds]


FromNetwork = Started | Opened | Frame | Pong | Ended
FromRoot = Open | Frame | Ping | Close
FROM_NETWORK: "msgspec.msgpack.Decoder[FromNetwork]" = msgspec.msgpack.Decoder(FromNetwork)
FROM_ROOT: "msgspec.msgpack.Decoder[FromRoot]" = msgspec.msgpack.Decoder(FromRoot)
