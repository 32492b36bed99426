"""The messages between a server and its compile workers: frames of MessagePack over a pipe, each preceded by its length."""

from typing import Any

import msgspec

from precast.base.digests import Digest
from precast.base.frames import make_frame
from precast.catalog.problems import CatalogProblem
from precast.lang.exports import ExportsAnswer
from precast.lang.inputs import ExportedQuery
from precast.lang.node_answers import NodeData
from precast.lang.puppetdb.answers import EncodedAnswer


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """The first message to a worker: the name of its environment, the files of its version by path, and the constants of all compiles.

    `answer_key` authenticates the digests of data in traces.
    """

    environment: str
    files: dict[str, Digest]
    constants: dict[str, Any]
    answer_key: bytes
    is_strict: bool
    has_exports: bool = False


class Compile(msgspec.Struct, frozen=True, tag="compile"):
    """The server requests a compile for this node."""

    node: NodeData


class Content(msgspec.Struct, frozen=True, tag="content"):
    """The bytes of a file that the worker requested."""

    data: bytes


class ContentRequest(msgspec.Struct, frozen=True, tag="want"):
    """The worker requests the content of a file."""

    digest: Digest


class Exports(msgspec.Struct, frozen=True, tag="exports"):
    """The exports of other nodes that the worker requested."""

    answer: ExportsAnswer


class FleetReply(msgspec.Struct, frozen=True, tag="fleet"):
    """The answer to a query over the fleet that the worker requested."""

    answer: EncodedAnswer


class FleetRequest(msgspec.Struct, frozen=True, tag="want_fleet"):
    """The worker requests the answer to a query over the fleet."""

    query: str


class ExportsRequest(msgspec.Struct, frozen=True, tag="want_exports"):
    """The worker requests the exports of other nodes that a collector's query matches."""

    question: ExportedQuery


class Compiled(msgspec.Struct, frozen=True, tag="compiled"):
    """The result of a compile: body and source map in canonical bytes, or the language error; and the trace in its stored form."""

    links: bytes
    logs: tuple[tuple[str, str], ...]
    body: bytes = b""
    source_map: bytes = b""
    content: tuple[str, ...] = ()
    error: str | None = None
    code: str | None = None
    problems: tuple[CatalogProblem, ...] = ()


class WorkerFault(msgspec.Struct, frozen=True, tag="broke"):
    """A fault of the worker, not of the code; the worker ends after it."""

    reason: str


ToWorker = Begin | Compile | Content | Exports | FleetReply
FromWorker = ContentRequest | ExportsRequest | FleetRequest | Compiled | WorkerFault

encode = msgspec.msgpack.Encoder().encode
decode_to_worker = msgspec.msgpack.Decoder(ToWorker).decode
decode_from_worker = msgspec.msgpack.Decoder(FromWorker).decode


def encode_frame(message: ToWorker | FromWorker) -> bytes:
    return make_frame(encode(message))
