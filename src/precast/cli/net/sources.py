"""Reads nets for the commands: the text notation or PNML, whichever a file contains."""

from collections.abc import Sequence
from pathlib import Path

from precast.cli import issues
from precast.cli.console.files import decode_source, read_bytes
from precast.net.exchange.notation import parse
from precast.net.exchange.pnml_reader import read_pnml
from precast.net.model.structure import Net

PNML = "*.pnml"
# No statement of the notation begins like an XML document, after the byte order marks of UTF-8 and UTF-16.
_XML = (b"<", "<".encode("utf-16-le"), "<".encode("utf-16-be"))
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def read_net(path: str) -> Net:
    """The net in a file. Raises what `read_source`, `parse` and `read_pnml` raise."""
    data = read_bytes(path)
    if not _is_xml(data):
        return parse(decode_source(path, data))
    return read_pnml("standard input" if path == "-" else path, data)


def _is_xml(data: bytes) -> bool:
    start = data[:1_000]
    for mark in _MARKS:
        start = start.removeprefix(mark)
    return start.lstrip(b" \t\r\n").startswith(_XML)


def find_nets(paths: Sequence[str]) -> list[str]:
    """The files to read: those that are named, and all PNML below a directory, in order. Raises NotFoundError CLI-037."""
    found: list[str] = []
    for path in paths:
        if path != "-" and Path(path).is_dir():
            below = sorted(str(file) for file in Path(path).rglob(PNML) if file.is_file())
            if not below:
                raise issues.NO_NETS.error(path=path)
            found += below
        else:
            found.append(path)
    return found


def is_single(paths: Sequence[str]) -> bool:
    """Whether the command line names one file, and neither several nor a directory."""
    return len(paths) == 1 and (paths[0] == "-" or not Path(paths[0]).is_dir())
