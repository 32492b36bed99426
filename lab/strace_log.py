"""Reads the log of strace, in the order in which the calls *ended*: a flush counts when it is done, not when it begins."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

_LINE = re.compile(r"^(?P<pid>\d+)\s+(?P<rest>.*)$")
_RESUMED = re.compile(r"^<\.\.\. (?P<name>\w+) resumed>(?P<rest>.*)$")
_CALL = re.compile(r"^(?P<name>\w+)\((?P<args>.*)\)\s+= (?P<result>-?\d+|\?)")
_UNFINISHED = " <unfinished ...>"


class Call(msgspec.Struct, frozen=True):
    """A system call that has ended."""

    pid: int
    name: str
    args: str
    result: int


def read_calls(path: Path) -> Iterator[Call]:
    begun: dict[int, str] = {}
    for line in path.read_text(errors="replace").splitlines():
        if not (match := _LINE.match(line)):
            continue
        pid, rest = int(match["pid"]), match["rest"]
        if rest.endswith(_UNFINISHED):
            begun[pid] = rest.removesuffix(_UNFINISHED)
            continue
        if resumed := _RESUMED.match(rest):
            rest = begun.pop(pid, f"{resumed['name']}(") + resumed["rest"]
        if (call := _CALL.match(rest)) and call["result"] != "?":
            yield Call(pid, call["name"], call["args"], int(call["result"]))
