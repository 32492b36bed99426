"""The messages between a server and a process that evaluates expressions.

The process keeps expressions and documents by the numbers that the server gives them, so that each is sent once. A document is a mapping
as canonical JSON; the server says when it is needed no longer.
"""

from typing import Any, Literal, NamedTuple

import msgspec

# No document: the question is only whether the expression can be read; or there is no earlier data.
NOTHING = -1


class Evaluation(NamedTuple):
    """An expression to evaluate. `old_node` and `old_common` are the data of the last success, if there was one."""

    expression: int
    is_condition: bool  # only whether the value is true matters
    parameters: int = NOTHING
    old_node: int = NOTHING
    old_common: int = NOTHING


class Request(msgspec.Struct, frozen=True):
    """Evaluates expressions over the data of one node."""

    evaluations: list[Evaluation]
    node: int = NOTHING
    common: int = NOTHING
    expressions: dict[int, str] = {}  # new ones
    documents: dict[int, bytes] = {}  # new ones
    forget: list[int] = []  # documents that no later request uses


class Value(msgspec.Struct, frozen=True, tag="value"):
    """The value of an expression, as JSON; of a condition, whether it is true."""

    json: bytes


class Invalid(msgspec.Struct, frozen=True, tag="invalid"):
    """The expression cannot be read."""

    reason: str


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The expression has no value over this data."""

    reason: str


class Exceeded(msgspec.Struct, frozen=True, tag="exceeded"):
    """The expression has reached a limit."""

    limit: Literal["time", "memory", "items", "depth", "size"]


Reply = Value | Invalid | Failed | Exceeded

encode = msgspec.msgpack.Encoder().encode
_requests: Any = msgspec.msgpack.Decoder(Request)
_replies: Any = msgspec.msgpack.Decoder(list[Reply])


def decode_request(data: bytes) -> Request:
    request: Request = _requests.decode(data)
    return request


def decode_replies(data: bytes) -> list[Reply]:
    """Raises ValueError."""
    replies: list[Reply] = _replies.decode(data)
    return replies
