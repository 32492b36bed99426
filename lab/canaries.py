"""Planted secrets, and the search for them: in files, in every cell of a database, in texts, in whatever form a program may have written.

A canary is a text that occurs nowhere else. It is found as it is, in the forms in which programs repeat a text, by its plain digests, and
inside compressed data. A code that plants one writes it in two parts, so that the code itself does not contain it.
"""

import base64
import hashlib
import json
import re
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

# What the first bytes of a zlib stream are, with the window sizes and levels that are in use.
_ZLIB = re.compile(rb"\x78[\x01\x5e\x9c\xda]|\x68[\x05\x43\x81\xde]|\x1f\x8b\x08")
_DIGESTS = ("md5", "sha256")
MAX_DEPTH = 3


class Canary(NamedTuple):
    """A secret, and the whole texts that contain it: their digests would tell it, too."""

    name: str
    value: str
    texts: tuple[str, ...] = ()

    def parts(self) -> tuple[str, str]:
        """The value in two parts."""
        middle = len(self.value) // 2
        return self.value[:middle], self.value[middle:]


class Found(NamedTuple):
    """A canary in a place."""

    canary: str
    form: str
    where: str


def forms(canary: Canary) -> dict[str, bytes]:
    """The bytes to look for, by the name of the form."""
    value = canary.value.encode()
    found = {
        "plain": value,
        "reversed": value[::-1],
        "hex": value.hex().encode(),
        "HEX": value.hex().upper().encode(),
        "json": json.dumps(canary.value)[1:-1].encode(),
        "url": quote(value, safe="").encode(),
        "utf-16": canary.value.encode("utf-16-le"),
    }
    found |= {f"base64 at {shift}": text for shift, text in enumerate(_base64_inside(value))}
    for text in (canary.value, *canary.texts):
        found |= _digest_forms(text)
    return found


def _base64_inside(value: bytes) -> Iterator[bytes]:
    """The part of the base64 of a longer text that depends on the value alone, for each place where the value may begin in it."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + value + b"\0\0")
        begin = -(-before * 8 // 6)
        yield encoded[begin : (before + len(value)) * 8 // 6]


def _digest_forms(text: str) -> dict[str, bytes]:
    """The plain digests of a text, of its lines ended, and of its JSON."""
    found: dict[str, bytes] = {}
    for suffix, data in (("", text), (" with newline", text + "\n"), (" as JSON", json.dumps(text))):
        for kind in _DIGESTS:
            digest = hashlib.new(kind, data.encode(), usedforsecurity=False).digest()
            named = f"{kind} of {text[:12]!r}{suffix}"
            found[named] = digest.hex().encode()
            found[f"{named}, bytes"] = digest
            found[f"{named}, base64"] = base64.b64encode(digest).rstrip(b"=")
    return found


class Search:
    """Looks for canaries, and counts what it has looked at."""

    def __init__(self, canaries: Iterable[Canary]) -> None:
        # The plain form last, so that it gives its name to the forms that are equal to it.
        needles = {data: (canary.name, form) for canary in canaries for form, data in reversed(forms(canary).items())}
        self._needles = [(*names, data) for data, names in needles.items()]
        self.looked_at: dict[str, int] = {}
        self.bytes: dict[str, int] = {}
        self.found: dict[str, list[Found]] = {}

    def look(self, place: str, data: bytes | str, where: str = "") -> list[Found]:
        """Look into one piece of data of a place, and into what is compressed in it."""
        raw = data.encode(errors="surrogateescape") if isinstance(data, str) else data
        self.looked_at[place] = self.looked_at.get(place, 0) + 1
        self.bytes[place] = self.bytes.get(place, 0) + len(raw)
        hits = list(dict.fromkeys(self._hits(raw, where)))
        self.found.setdefault(place, []).extend(hits)
        return hits

    def look_into_file(self, place: str, path: Path) -> list[Found]:
        return self.look(place, path.read_bytes(), str(path))

    def _hits(self, data: bytes, where: str, depth: int = 0) -> Iterator[Found]:
        for name, form, needle in self._needles:
            if needle in data:
                yield Found(name, form, where)
        if depth < MAX_DEPTH:
            for inner in _decompressed(data):
                yield from self._hits(inner, f"{where} (compressed)", depth + 1)

    def table(self, clear_text: Collection[str] = ()) -> str:
        """What was looked at, place by place, and how often a canary was found; those of `clear_text` are counted apart."""
        lines = [f"{'place':34} {'pieces':>8} {'bytes':>13} {'found':>6} {'clear text':>11}"]
        for place, count in sorted(self.looked_at.items()):
            clear = sum(found.canary in clear_text for found in self.found[place])
            found = len(self.found[place]) - clear
            lines.append(f"{place:34} {count:8} {self.bytes[place]:13,} {found:6} {clear:11}")
        return "\n".join(lines)


def _decompressed(data: bytes) -> Iterator[bytes]:
    """Every zlib and gzip stream in the data, also those that are cut off."""
    end = 0
    for match in _ZLIB.finditer(data):
        if match.start() < end:
            continue
        stream = zlib.decompressobj(47)
        try:
            inner = stream.decompress(data[match.start() :], 64 * 1024 * 1024)
        except zlib.error:
            continue
        if len(inner) > 8:
            end = len(data) - len(stream.unused_data) if stream.eof else match.start() + 2
            yield inner


def cells(database: Path) -> Iterator[tuple[str, bytes]]:
    """Every text and every blob in a SQLite file, with the table and column that it is in."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        connection.text_factory = bytes
        names = [row[0].decode() for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            cursor = connection.execute(f'SELECT * FROM "{name}"')
            columns = [column[0] for column in cursor.description]
            for row in cursor:
                yield from _texts(name, dict(zip(columns, row, strict=True)))


def _texts(table: str, row: Mapping[str, object]) -> Iterator[tuple[str, bytes]]:
    for column, value in row.items():
        if isinstance(value, str):
            yield f"{table}.{column}", value.encode()
        elif isinstance(value, bytes | bytearray | memoryview):
            yield f"{table}.{column}", bytes(value)
