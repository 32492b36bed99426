"""What a node and a server say to each other over their one connection.

Each frame is one JSON message. A node opens with `Hello`, the server answers with `Welcome` or `Refused`; that settles the
version both speak, the session's epoch, and from which number on each side repeats what the other does not have. After that
both send numbered records and acknowledge what they have stored; everything else is a hint. Unknown fields are ignored, and
what a record holds has a version of its own, because a record may wait through an upgrade.

Numbers begin at 1 and have no gaps. A node's are of its local store (`instance`), a server's are of the node.
"""

from datetime import datetime
from typing import Annotated

import msgspec

# The newest first; a side speaks the newest that both know. With 2 came `Released`: an older node would not know what it hears. With 3
# the stable facts may come packed, with 4 the volatile ones too: an older server would not see them.
VERSIONS = (4, 3, 2, 1)
WITH_HINTS = 2
WITH_PACKED_FACTS = 3
WITH_PACKED_VOLATILE = 4
PATH = "/v1/session"
# A record of facts is the largest there is.
MAX_FRAME_BYTES = 512 * 1024
# How many attempts without an answer a node remembers; more than these look like a clone's.
MAX_ATTEMPTS = 32

# Why a server ends a connection, as the websocket's close code.
CLOSE_RECONNECT = 4000  # come back, as `Reconnect` said
CLOSE_FENCED = 4001  # another connection of this node is newer
CLOSE_REVOKED = 4003  # the certificate is not good any more
CLOSE_PROTOCOL = 4004  # what came is not this protocol
CLOSE_REFUSED = 4005  # see `Refused`
CLOSE_SILENT = 4006  # nothing was heard for too long
CLOSE_UNSTORED = 4007  # the server could not store what came; it comes again


# What a node may call something: it is stored and shown.
Word = Annotated[str, msgspec.Meta(pattern=r"\A[0-9A-Za-z][0-9A-Za-z._+-]{0,63}\Z")]
Number = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class Message(msgspec.Struct, frozen=True, tag_field="type", tag=str.lower):
    """One frame."""


class Hello(Message, frozen=True):
    """A node opens. `attempts` holds this one and those before it back to the last that was welcomed, newest first."""

    versions: list[int]
    instance: Word  # of the local store; a new store is a new instance
    attempts: Annotated[list[Word], msgspec.Meta(min_length=1, max_length=MAX_ATTEMPTS + 1)]
    boot_id: Word
    agent: Word  # the program's version
    epoch: Number = 0  # the last it was given; higher than the server's if the server's database went back in time
    first: Annotated[int, msgspec.Meta(ge=1, le=2**62)] = 1  # the lowest number the node still has, or would give next
    last: Number = 0  # the highest it has given
    # Of the server's records, stored through this number; less than any other, because the next ones are numbered after it.
    received: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    received_at: datetime | None = None  # when the server made that one, so that another of the same number is known


class Welcome(Message, frozen=True):
    """The session has begun. The node repeats its records from `received` + 1 on."""

    version: int
    epoch: int
    server: str
    received: int  # of the node's records, stored through this number
    heartbeat_s: float  # send a ping when silent for so long
    cycle_s: float  # come back anew after so long
    horizon_s: float  # keep acknowledged records for so long
    facts_digest: str = ""  # the stable facts the server has, so that they are not sent again
    spread_s: float = 3.0  # if the connection is lost, begin to come back within so long, so that a herd is no herd
    catalog_digest: str = ""  # what the node is served; empty if nothing was released to it
    policy: int = 0  # the serial of its policy; 0 if it has none
    window_bytes: int = (
        4 * 1024 * 1024
    )  # send no more before it is acknowledged, but for a record that is larger itself


class Refused(Message, frozen=True):
    """There is no session; the same words as any error of ours. The node may try again after `retry_s`."""

    code: str
    message: str
    hint: str = ""
    retry_s: float = 300.0


class Record(Message, frozen=True, gc=False):
    """Something that must not get lost. The body's form follows from kind and version."""

    number: Annotated[int, msgspec.Meta(ge=1, le=2**62)]
    kind: str
    at: datetime
    body: msgspec.Raw
    version: int = 1


class Ack(Message, frozen=True, gc=False):
    """Every record through this number is stored."""

    through: Number


class Resend(Message, frozen=True):
    """The records after this number have not come; begin there again."""

    after: Number


class Want(Message, frozen=True):
    """The server lacks the stable facts of this digest; send them whole."""

    facts_digest: str


class Reconnect(Message, frozen=True):
    """Leave, and come back after a while chosen at random between `after_s` and `after_s` + `spread_s`, elsewhere if you can."""

    why: str
    after_s: float = 0.0
    spread_s: float = 0.0


class Released(Message, frozen=True):
    """What the node is served, or its policy, is another now; what is empty or 0 is as it was. Fetch within `spread_s`."""

    digest: str = ""
    policy: int = 0
    spread_s: float = 0.0


FromNode = Hello | Record | Ack | Resend
FromServer = Welcome | Refused | Record | Ack | Resend | Want | Reconnect | Released


class LossBody(msgspec.Struct, frozen=True):
    """What a node had to drop because its spool was full. Kind `loss`."""

    kind: str
    count: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    first_at: datetime
    last_at: datetime


class CollectOrder(msgspec.Struct, frozen=True):
    """Collect facts now and send them. Kind `collect`."""

    why: str = ""


class RenewOrder(msgspec.Struct, frozen=True):
    """Renew the certificate now, and take the authorities that come with it. Kind `renew`."""

    why: str = ""


FACTS = "facts"
LOSS = "loss"
COLLECT = "collect"
RENEW = "renew"

_encoder = msgspec.json.Encoder()
_from_node: msgspec.json.Decoder[FromNode] = msgspec.json.Decoder(FromNode)
_from_server: msgspec.json.Decoder[FromServer] = msgspec.json.Decoder(FromServer)


def encode(message: Message) -> bytes:
    return _encoder.encode(message)


def decode_from_node(frame: bytes | str) -> FromNode:
    """A frame of a node's. Raises ValueError (of which msgspec's and UnicodeDecodeError are) or RecursionError."""
    return _from_node.decode(frame)


def decode_from_server(frame: bytes | str) -> FromServer:
    """A frame of a server's. Raises as `decode_from_node` does."""
    return _from_server.decode(frame)


def choose_version(offered: list[int]) -> int | None:
    """The newest version both know."""
    return next((version for version in VERSIONS if version in offered), None)
