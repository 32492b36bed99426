"""Checks the catalogs of a job together, in a process of its own: thousands of catalogs take seconds and hundreds of megabytes.

It reads a request from standard input, writes the answer to standard output, and can reach nothing else.
`python -I -m precast.services.futures.checking.child LEVEL`.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

import msgspec

from precast.base.confinement.children import ASK, confine_or_exit, write_answer
from precast.base.confinement.confine import Confinement, Level
from precast.base.errors import PrecastError
from precast.base.frames import read_frame
from precast.catalog import body as bodies
from precast.catalog.body import Body
from precast.catalog.futures import FutureNeed, FuturePromise, list_needs, list_promises
from precast.catalog.joint_check import check_joint
from precast.catalog.joint_net import JointPart
from precast.catalog.order import Order
from precast.catalog.part import PartSelection, take_part
from precast.catalog.source_map import SourceMap
from precast.services.futures.checking.messages import (
    EMPTY,
    CheckedPart,
    JointAnswer,
    JointRequest,
    decode_request,
    encode,
)
from precast.types.ordering import graph

MEMORY_BYTES = 4 * 1024**3
CPU_S = 120


class _Selection(NamedTuple):
    """A document, and what selects its part: parts with equal selections share an order."""

    document: int
    tags: tuple[str, ...]
    classes: tuple[str, ...]
    stages: tuple[str, ...]
    run_tags: tuple[str, ...]


class _Checked(NamedTuple):
    order: Order
    promises: Sequence[FuturePromise]
    needs: Sequence[FutureNeed]


def answer(request: JointRequest, documents: Sequence[bytes], source_maps: Sequence[bytes] = ()) -> JointAnswer:
    """Check the parts of a request."""
    known: dict[_Selection, _Checked] = {}
    decoded: dict[int, Body] = {EMPTY: Body((), (), (), (), {})}
    places = [msgspec.json.decode(data, type=SourceMap) if data else None for data in source_maps]
    parts = []
    try:
        for part in request.parts:
            selection = _Selection(
                part.document, tuple(part.tags), tuple(part.classes), tuple(part.stages), tuple(part.run_tags)
            )
            if selection not in known:
                if part.document not in decoded:
                    decoded[part.document] = bodies.decode(documents[part.document])
                known[selection] = _read(decoded[part.document], part)
            place = places[part.document] if 0 <= part.document < len(places) else None
            parts.append(JointPart(part.name, *known[selection], place, part.after))
        report = check_joint(parts, frozenset(request.standing))
    except PrecastError as error:  # a catalog without an order fails on its node, which says why
        return JointAnswer(reason=error.message)
    return JointAnswer(list(report.problems), report.transitions, report.waits)


def _read(body: Body, part: CheckedPart) -> _Checked:
    body = take_part(body, PartSelection(part.tags, part.classes, part.stages)).body
    tags = frozenset(tag.lower() for tag in part.run_tags)
    left_out = {resource.ref for resource in body.resources if tags and tags.isdisjoint(resource.tags)}
    promises = [promise for promise in list_promises(body) if promise.ref not in left_out]
    needs = [need for need in list_needs(body) if need.ref not in left_out]
    return _Checked(graph(body), promises, needs)


def main() -> int:
    measures = confine_or_exit(Confinement(level=Level(sys.argv[1]), memory_bytes=MEMORY_BYTES, cpu_s=CPU_S))
    if sys.argv[2:] == [ASK]:
        write_answer(measures)
        return 0
    stdin = sys.stdin.buffer
    data = read_frame(stdin)
    if data is None:
        return 1
    request = decode_request(data)
    documents = list(_frames(stdin, request.documents))
    source_maps = list(_frames(stdin, request.source_maps))
    sys.stdout.buffer.write(encode(answer(request, documents, source_maps)))
    sys.stdout.flush()
    return 0


def _frames(stream: BinaryIO, count: int) -> Iterator[bytes]:
    for _ in range(count):
        data = read_frame(stream)
        if data is None:
            sys.exit(1)
        yield data


if __name__ == "__main__":
    sys.exit(main())
