"""Answers costly questions about the code of one environment, in a process that can be killed: parses data files, matches patterns.

It reads requests from standard input and writes replies to standard output, and can reach nothing else.
`python -I -m precast.services.traces.costly_child LEVEL MEMORY_BYTES`.
"""

import os
import sys
from typing import BinaryIO

from precast.base import digests
from precast.base.confinement.children import ASK, confine_or_exit, write_answer
from precast.base.confinement.confine import Confinement, Level
from precast.base.errors import PrecastError
from precast.base.frames import make_frame, read_frame
from precast.lang.hiera.data import files
from precast.lang.inputs import ABSENT
from precast.lang.node_matching import match_node
from precast.services.traces.costly_messages import (
    CostlyReply,
    CostlyRequest,
    FileIndex,
    IndexFile,
    MatchedNode,
    MatchNode,
    Refused,
    decode_request,
    encode,
)

# The exit code of a process that has reached its memory limit.
OUT_OF_MEMORY = 71
RECURSION_LIMIT = 20_000  # as in compile workers, so that both accept the same expressions


def answer(request: CostlyRequest) -> CostlyReply:
    """Answer a request. It may take any time and memory."""
    try:
        return _index(request) if isinstance(request, IndexFile) else _match(request)
    except PrecastError as error:
        return Refused(f"{error.message} [{error.code}]")


def _index(request: IndexFile) -> FileIndex:
    content = files.read_content(request.digest, request.reader, request.data)
    if content.common_answer is not None:
        return FileIndex(content.common_answer)
    return FileIndex(keys={key: str(content.answer(key, request.answer_key)) for key in content.keys})


def _match(request: MatchNode) -> MatchedNode:
    matched = match_node(request.matchers, request.certname)
    return MatchedNode() if matched is ABSENT else MatchedNode(*matched)


def _serve(reader: BinaryIO, writer: BinaryIO) -> None:
    while (data := read_frame(reader)) is not None:
        writer.write(make_frame(encode(answer(decode_request(data)))))
        writer.flush()


def main() -> int:
    for reader in files.READERS:
        files.read_content(digests.of_bytes(b""), reader, "a: [1, é]".encode())  # loads what is imported late
    sys.setrecursionlimit(RECURSION_LIMIT)
    level, memory_bytes = Level(sys.argv[1]), int(sys.argv[2])
    measures = confine_or_exit(Confinement(level=level, memory_bytes=memory_bytes))
    if sys.argv[3:] == [ASK]:
        write_answer(measures)
        return 0
    try:
        _serve(sys.stdin.buffer, sys.stdout.buffer)
    except MemoryError:
        # Nothing can be cleaned up without memory: the exit code tells the server.
        os._exit(OUT_OF_MEMORY)
    except BrokenPipeError:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
