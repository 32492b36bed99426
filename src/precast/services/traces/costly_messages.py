"""The messages between a server and a process that answers costly questions."""

from typing import Any

import msgspec

from precast.base.digests import Digest


class IndexFile(msgspec.Struct, frozen=True, tag="index"):
    """Requests the answers for all keys of a data file, as digests under the environment's key."""

    digest: Digest
    reader: str
    data: bytes
    answer_key: bytes


class MatchNode(msgspec.Struct, frozen=True, tag="match"):
    """Asks which of these node blocks matches a node."""

    matchers: tuple[str, ...]
    certname: str


class FileIndex(msgspec.Struct, frozen=True, tag="indexed", weakref=True):
    """The answer for each key of a data file, or `common` as the answer for every key."""

    common: str | None = None
    keys: dict[str, str] = {}


class MatchedNode(msgspec.Struct, frozen=True, tag="matched"):
    """The index of the matcher and its captures; no index if none matches."""

    index: int | None = None
    captures: tuple[str | None, ...] = ()


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The code has an error, such as an invalid expression."""

    reason: str


CostlyRequest = IndexFile | MatchNode
CostlyReply = FileIndex | MatchedNode | Refused

encode = msgspec.msgpack.Encoder().encode
_request_decoder: Any = msgspec.msgpack.Decoder(CostlyRequest)
_reply_decoder: Any = msgspec.msgpack.Decoder(CostlyReply)


def decode_request(data: bytes) -> CostlyRequest:
    request: CostlyRequest = _request_decoder.decode(data)
    return request


def decode_reply(data: bytes) -> CostlyReply:
    """Raises ValueError."""
    reply: CostlyReply = _reply_decoder.decode(data)
    return reply
