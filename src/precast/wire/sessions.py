"""The messages of a session: the conversation of a node and a server over one websocket connection.

Each frame is one JSON message. A node opens with `Hello`, the server answers with `Welcome` or `Refused`. That fixes the protocol
version, the epoch of the session, and the number from which each side resends the records that the other does not have. After that
both send numbered records and acknowledge those they have stored; every other message is a hint. Unknown fields are ignored. The body
of a record has a version of its own, because a record may wait through an upgrade.

Numbers begin at 1 and have no gaps. A node numbers its records for each local store (`instance`), a server for each node.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

import msgspec

# The protocol versions that this side speaks, the newest first. The node offers its versions in `Hello`; the server chooses.
VERSIONS = (1,)
PATH = "/v1/session"
# A fact set is the largest record.
MAX_FRAME_BYTES = 512 * 1024
# How many connection attempts without an answer a node remembers. Then it repeats the last one.
MAX_ATTEMPTS = 32

# The code of a refusal of a hello that another one of the same node has overtaken.
OVERTAKEN = "SESSION-009"

# Why a server ends a connection, as the websocket's close code.
CLOSE_RECONNECT = 4000  # reconnect, as `Reconnect` says
CLOSE_FENCED = 4001  # another connection of this node is newer
CLOSE_REVOKED = 4003  # the certificate is no longer valid
CLOSE_PROTOCOL = 4004  # a frame violates the protocol
CLOSE_REFUSED = 4005  # see `Refused`
CLOSE_SILENT = 4006  # nothing was received for too long
CLOSE_EXPIRED = 4008  # the certificate has expired, by the server's clock
CLOSE_UNSTORED = 4007  # the server could not store the records; the node sends them again


# A name that a node chooses. It is stored and shown, so its characters are restricted.
Identifier = Annotated[str, msgspec.Meta(pattern=r"\A[0-9A-Za-z][0-9A-Za-z._+-]{0,63}\Z")]
# The key of a promise, and the id of the attempt of a job that a run belongs to.
FutureKey = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
OrderName = Annotated[str, msgspec.Meta(max_length=100)]
RecordNumber = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
# A node is root and computes with what a server says, so numbers that no server means are refused with their frame.
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Message(msgspec.Struct, frozen=True, tag_field="type", tag=str.lower):
    """One frame."""


class Hello(Message, frozen=True):
    """Opens a session. `attempts` lists this connection attempt and the earlier ones since the last that was welcomed, newest first."""

    versions: list[int]
    instance: Identifier  # of the local store; a new store is a new instance
    attempts: Annotated[list[Identifier], msgspec.Meta(min_length=1, max_length=MAX_ATTEMPTS + 1)]
    boot_id: Identifier
    agent: Identifier  # the program's version
    epoch: RecordNumber = (
        0  # the last it was given; higher than the server's if the server's database was restored from a backup
    )
    first: Annotated[int, msgspec.Meta(ge=1, le=2**62)] = (
        1  # the lowest number that the node still has, or the next one it gives
    )
    last: RecordNumber = 0  # the highest number it has given
    # The node has stored the server's records through this number. Its bound is lower, because the next records are numbered after it.
    received: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    received_at: datetime | None = (
        None  # when the server made that record, to tell it from another one of the same number
    )
    machine_id: Annotated[str, msgspec.Meta(pattern=r"\A[0-9A-Za-z]{0,64}\Z")] = ""  # empty if it has none that lasts
    term: RecordNumber = 0  # the highest term of a database that a server has told it


class Welcome(Message, frozen=True):
    """Begins the session. The node resends its records from `received` + 1 on."""

    version: int
    epoch: RecordNumber
    server: str
    received: RecordNumber  # the server has stored the node's records through this number
    heartbeat_s: Seconds  # the node sends a ping after this long without a frame
    cycle_s: Seconds  # the node reconnects after this long
    horizon_s: Seconds  # the node keeps acknowledged records for this long
    facts_digest: str = ""  # of the stable facts that the server has, so that the node does not send them again
    spread_s: Seconds = 3.0  # after a lost connection the node reconnects at a random time within this span
    catalog_digest: str = ""  # of the served catalog; empty if nothing was released to the node
    policy: RecordNumber = 0  # the serial of the node's policy; 0 if it has none
    # The term of the server's database. A node that has seen a higher one ends the connection: that database was left behind.
    term: RecordNumber = 0
    window_bytes: RecordNumber = (
        4 * 1024 * 1024
    )  # the send window: unacknowledged bytes that the node may send; a larger single record is allowed


class Refused(Message, frozen=True):
    """Refuses the session, with the fields of any Precast error. The node may retry after `retry_s`."""

    code: str
    message: str
    hint: str = ""
    retry_s: Seconds = 300.0


class Record(Message, frozen=True, gc=False):
    """A message that must not be lost. Kind and version determine the form of the body."""

    number: Annotated[int, msgspec.Meta(ge=1, le=2**62)]
    kind: str
    at: datetime
    body: msgspec.Raw
    version: int = 1


class Ack(Message, frozen=True, gc=False):
    """Acknowledges that every record through this number is stored."""

    through: RecordNumber


class Resend(Message, frozen=True):
    """Asks for the records after this number again, because they were not received."""

    after: RecordNumber


class FactsWanted(Message, frozen=True, tag="want"):
    """Asks for the stable facts of this digest, which the server does not have."""

    facts_digest: str


class Reconnect(Message, frozen=True):
    """Asks the node to disconnect, and to reconnect at a random time between `after_s` and `after_s` + `spread_s`, if possible to another
    server."""

    why: str
    after_s: Seconds = 0.0
    spread_s: Seconds = 0.0


class Released(Message, frozen=True):
    """Announces a new served catalog or a new policy; an empty or 0 field is unchanged. The node fetches it within `spread_s`."""

    digest: str = ""
    policy: RecordNumber = 0
    spread_s: Seconds = 0.0


class Subscribe(Message, frozen=True):
    """Asks for the values of all keys that a catalog needs, and for each change of them.

    A node has one subscription without an order: to the standing values of its environment, for the catalog that it has cached. It has at
    most one with an order: to the values of that job, for the catalog that it applies. An empty catalog ends a subscription.
    """

    catalog: Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{64})?\Z")]
    order: OrderName = ""


class KeyValue(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of a key of one node. `left_s` and `expires_at` say until when the value may be used, by the server's clock.

    pending: this member of the job will promise it. fulfilled: it has a value. failed: this member will not promise it any more. The number
    grows with each change, so an older message never replaces a newer state. A standing value (`is_standing`) that no longer exists is
    failed, too: it counts neither as a value nor as a producer.
    """

    key: FutureKey
    node: Annotated[str, msgspec.Meta(max_length=256)]
    state: Literal["pending", "fulfilled", "failed"]
    number: RecordNumber
    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    is_sensitive: bool = False
    expires_at: datetime | None = None
    left_s: Seconds | None = None
    reason: str = ""  # why it failed
    is_standing: bool = False  # a value of the environment: no member of the job promises the key


class Values(Message, frozen=True):
    """States of keys for a subscription. The answer to `Subscribe` may be several messages; the last one has `is_last`.

    A key of the catalog that is not in the whole answer has no value, and nobody in the job promises it.
    """

    catalog: str
    values: list[KeyValue]
    order: OrderName = ""
    is_last: bool = False
    error: str = ""  # why this subscription is refused; a catalog that is absent and one that is forbidden look alike


FromNode = Hello | Record | Ack | Resend | Subscribe
FromServer = Welcome | Refused | Record | Ack | Resend | FactsWanted | Reconnect | Released | Values


class LossBody(msgspec.Struct, frozen=True):
    """Reports records that a node dropped because its spool was full. Kind `loss`."""

    kind: str
    count: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    first_at: datetime
    last_at: datetime


class CollectOrder(msgspec.Struct, frozen=True):
    """Orders a node to collect and send its facts now. Kind `collect`."""

    why: str = ""


class RenewOrder(msgspec.Struct, frozen=True):
    """Orders a node to renew its certificate now, and to trust the authorities in the answer. Kind `renew`."""

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
    """Decode a frame of a node. Raises ValueError (the base of msgspec's errors and UnicodeDecodeError) or RecursionError."""
    return _from_node.decode(frame)


def decode_from_server(frame: bytes | str) -> FromServer:
    """Decode a frame of a server. Raises as `decode_from_node` does."""
    return _from_server.decode(frame)


def choose_version(offered: Sequence[int], known: Sequence[int] = VERSIONS) -> int | None:
    """Choose the newest version that both sides speak; None if there is no such version. `known` lists the newest first."""
    return next((version for version in known if version in offered), None)
