"""What a server and its compile workers say to each other: frames of MessagePack over a pipe, each with its length in front."""

from typing import Any, BinaryIO

import msgspec

from precast.base.digests import Digest
from precast.lang.answers import NodeData

# A frame that is longer is a fault: the largest catalogs have some ten megabytes.
MAX_FRAME_BYTES = 256 * 1024 * 1024
_LENGTH_BYTES = 4


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """First to a worker: the files of its version by path, the name of its environment, and what is the same for all its compiles."""

    environment: str
    files: dict[str, Digest]
    constants: dict[str, Any]
    is_strict: bool


class Compile(msgspec.Struct, frozen=True, tag="compile"):
    """Compile for this node."""

    node: NodeData


class Content(msgspec.Struct, frozen=True, tag="content"):
    """The bytes of a file that was wanted."""

    data: bytes


class Want(msgspec.Struct, frozen=True, tag="want"):
    """Send me this file."""

    digest: Digest


class Compiled(msgspec.Struct, frozen=True, tag="compiled"):
    """What came of it: body and source map in canonical bytes, or the error of the language; the trace as it is stored."""

    links: bytes
    logs: tuple[tuple[str, str], ...]
    body: bytes = b""
    source_map: bytes = b""
    content: tuple[str, ...] = ()
    error: str | None = None
    code: str | None = None


class Broke(msgspec.Struct, frozen=True, tag="broke"):
    """A fault of the worker, not of the code; it ends."""

    reason: str


ToWorker = Begin | Compile | Content
FromWorker = Want | Compiled | Broke

encode = msgspec.msgpack.Encoder().encode
decode_to_worker = msgspec.msgpack.Decoder(ToWorker).decode
decode_from_worker = msgspec.msgpack.Decoder(FromWorker).decode


def framed(message: ToWorker | FromWorker) -> bytes:
    data = encode(message)
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame; None where the other side has closed."""
    head = stream.read(_LENGTH_BYTES)
    if len(head) < _LENGTH_BYTES:
        return None
    data = stream.read(frame_length(head))
    return data or None


def frame_length(head: bytes) -> int:
    length = int.from_bytes(head, "big")
    if length > MAX_FRAME_BYTES:
        raise ValueError(f"a frame of {length} bytes")
    return length
