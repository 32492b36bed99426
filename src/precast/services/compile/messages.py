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


Options = tuple[tuple[str, str], ...]


class FingerprintRequest(msgspec.Struct, frozen=True, tag="fingerprint?"):
    """The worker asks for the fingerprint of the key that options of hiera.yaml name."""

    options: Options


class Fingerprint(msgspec.Struct, frozen=True, tag="fingerprint"):
    """The fingerprint; None if the server has no such key for the environment."""

    fingerprint: str | None


class DecryptRequest(msgspec.Struct, frozen=True, tag="decrypt"):
    """The worker requests the plain text of an encrypted value. It never has the key."""

    data: bytes
    options: Options


class Decrypted(msgspec.Struct, frozen=True, tag="decrypted"):
    """The plain text of a value."""

    data: bytes


class SecretRequest(msgspec.Struct, frozen=True, tag="secret"):
    """The worker asks for a field of a document of a secret source; for the whole document without a name of a field."""

    source: str
    path: str
    field: str = ""


class Secret(msgspec.Struct, frozen=True, tag="secret"):
    """The answer to the question, with the value as JSON that belongs to it; no answer means absent."""

    answer: str | None
    value: bytes = b"null"


class PolicyRequest(msgspec.Struct, frozen=True, tag="policy?"):
    """The worker asks whether a fact may choose a secret."""


class Policy(msgspec.Struct, frozen=True, tag="policy"):
    """Warn or refuse."""

    by_facts: str


class Refusal(msgspec.Struct, frozen=True, tag="refused"):
    """The server cannot give the worker what it requested: an error of the code, which ends the compile as its result."""

    code: str
    message: str
    hint: str


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


# What a worker asks its server while it compiles, besides files and other nodes, and the replies.
WorkerRequest = FingerprintRequest | DecryptRequest | SecretRequest | PolicyRequest
ServerReply = Fingerprint | Decrypted | Secret | Policy | Refusal
ToWorker = Begin | Compile | Content | Exports | FleetReply | ServerReply
FromWorker = ContentRequest | ExportsRequest | FleetRequest | WorkerRequest | Compiled | WorkerFault

encode = msgspec.msgpack.Encoder().encode
decode_to_worker = msgspec.msgpack.Decoder(ToWorker).decode
decode_from_worker = msgspec.msgpack.Decoder(FromWorker).decode


def encode_frame(message: ToWorker | FromWorker) -> bytes:
    return make_frame(encode(message))
