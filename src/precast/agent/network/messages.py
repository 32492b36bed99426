"""The messages between root and the network process that makes its requests. No message from the network process names a path or a file."""

from typing import Annotated, Literal

import msgspec

MAX_PIECE_BYTES = 256 * 1024

_Name = Annotated[str, msgspec.Meta(max_length=100)]
_Value = Annotated[str, msgspec.Meta(max_length=10_000)]
Headers = Annotated[dict[_Name, _Value], msgspec.Meta(max_length=20)]
# The headers of a response that root uses.
USED_HEADERS = ("ETag", "Precast-Release")


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """A message; its type is in it."""


class Started(Message, frozen=True):
    """The network process has given up its privileges: its user, and the measures that this system lacks."""

    uid: Annotated[int, msgspec.Meta(ge=0, le=2**32)]
    lacks: Annotated[list[_Value], msgspec.Meta(max_length=20)]


class Ask(Message, frozen=True):
    """Root makes a request to a server. Pieces of `content_bytes` follow if its body is content."""

    url: str
    method: Literal["GET", "POST", "PUT"]
    path: str
    headers: dict[str, str]
    body: bytes = b""
    content_bytes: int = 0


class Head(Message, frozen=True):
    """A server has answered; pieces of the body follow."""

    status: Annotated[int, msgspec.Meta(ge=100, le=599)]
    headers: Headers


class Piece(Message, frozen=True):
    """The next bytes of a body: that of an answer, or content that root sends."""

    data: Annotated[bytes, msgspec.Meta(min_length=1, max_length=MAX_PIECE_BYTES)]


class End(Message, frozen=True):
    """The body is complete."""


class Failed(Message, frozen=True):
    """The request failed, before its answer or in the middle of it."""

    kind: Literal["unavailable", "denied", "input"]
    code: Annotated[str, msgspec.Meta(pattern=r"\A[A-Z]{2,20}-[0-9]{3}\Z")]
    message: Annotated[str, msgspec.Meta(max_length=2_000)]
    hint: Annotated[str, msgspec.Meta(max_length=2_000)]


FromNetwork = Started | Head | Piece | End | Failed
FROM_NETWORK: "msgspec.msgpack.Decoder[FromNetwork]" = msgspec.msgpack.Decoder(FromNetwork)
FROM_ROOT: "msgspec.msgpack.Decoder[Ask | Piece]" = msgspec.msgpack.Decoder(Ask | Piece)
