"""The messages between a server and the process that checks the catalogs of a job.

The request is a frame, followed by one frame for each document, and one for each source map that it announces. So no message is larger than
a catalog.
"""

from typing import Annotated, Any

import msgspec

from precast.catalog.problems import CatalogProblem

# The document of a part that applies nothing, and only has a place in the order.
EMPTY = -1


class CheckedPart(msgspec.Struct, frozen=True, array_like=True):
    """A catalog that a node applies, or a part of it: `tags`, `classes` and `stages` select resources; without any, all of them.

    `run_tags` leave out the other resources as a run by tags does: their dependents do not wait for them.
    """

    name: str
    document: Annotated[int, msgspec.Meta(ge=EMPTY)] = EMPTY  # the index of its document
    after: list[str] = []
    tags: list[str] = []
    classes: list[str] = []
    stages: list[str] = []
    run_tags: list[str] = []


class JointRequest(msgspec.Struct, frozen=True):
    """The parts of a job, the keys that have a standing value, and how many documents and source maps follow.

    The source map with an index is that of the document with the same index; an empty one is not known.
    """

    parts: list[CheckedPart]
    standing: list[str]
    documents: int
    source_maps: int = 0


class JointAnswer(msgspec.Struct, frozen=True):
    """What the check has found, and the size of the net. `reason` says why the catalogs could not be checked."""

    problems: list[CatalogProblem] = []
    transitions: int = 0
    waits: int = 0
    reason: str = ""


encode = msgspec.msgpack.Encoder().encode
_requests: Any = msgspec.msgpack.Decoder(JointRequest)
_answers: Any = msgspec.msgpack.Decoder(JointAnswer)


def decode_request(data: bytes) -> JointRequest:
    request: JointRequest = _requests.decode(data)
    return request


def decode_answer(data: bytes) -> JointAnswer:
    """Raises ValueError."""
    answer: JointAnswer = _answers.decode(data)
    return answer
