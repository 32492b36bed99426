"""The search for planted secrets finds each form of them: otherwise a test that finds none would say nothing."""

import base64
import gzip
import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from isal import isal_zlib

from lab.canaries import Canary, Search, cells

CANARY = Canary("password", 'cAnArY-7xQ-"&é-2kZ', ('password = cAnArY-7xQ-"&é-2kZ\n',))
VALUE = CANARY.value.encode()

WRITTEN: dict[str, Callable[[], bytes]] = {
    "plain": lambda: b"a" + VALUE + b"b",
    "json": lambda: json.dumps({"a": [CANARY.value]}).encode(),
    "base64": lambda: base64.b64encode(VALUE),
    "base64 of a longer text, 1": lambda: base64.b64encode(b"x" + VALUE + b"yz"),
    "base64 of a longer text, 2": lambda: base64.b64encode(b"xx" + VALUE + b"y"),
    "base64 of a longer text, 3": lambda: base64.b64encode(b"xxx" + VALUE),
    "hex": lambda: (b"x" + VALUE).hex().encode(),
    "url": lambda: f"https://a/?q={quote(CANARY.value, safe='')}".encode(),
    "sha256": lambda: hashlib.sha256(VALUE).hexdigest().encode(),
    "sha256 in bytes": lambda: hashlib.sha256(VALUE).digest(),
    "sha256 in base64": lambda: base64.b64encode(hashlib.sha256(VALUE).digest()),
    "md5": lambda: hashlib.md5(VALUE, usedforsecurity=False).hexdigest().encode(),
    "sha256 of the text": lambda: hashlib.sha256(CANARY.texts[0].encode()).hexdigest().encode(),
    "sha256 of the JSON": lambda: hashlib.sha256(json.dumps(CANARY.value).encode()).hexdigest().encode(),
    "zlib": lambda: b"head" + zlib.compress(b"x" * 50 + VALUE) + b"tail",
    "zlib of the store": lambda: isal_zlib.compress(b"x" * 5000 + VALUE, 1),
    "zlib that is cut off": lambda: zlib.compress(VALUE + bytes(range(256)) * 8, 9)[:-20],
    "gzip of zlib": lambda: gzip.compress(b"a frame " + zlib.compress(b"x" * 50 + VALUE) + b" another"),
    "zlib after something that looks like one": lambda: b"\x78\x9c\x78\x01" + zlib.compress(b"xxxxxxxx" + VALUE),
}


@pytest.mark.parametrize("form", WRITTEN)
def test_each_form_of_a_canary_is_found(form: str) -> None:
    search = Search([CANARY])
    (found, *_) = search.look("here", b"before " + WRITTEN[form]() + b" after", "a file")
    assert (found.canary, found.where.partition(" (")[0]) == ("password", "a file")
    assert search.look("here", b"nothing of it") == []
    assert "here" in search.table()


def test_code_with_the_two_parts_of_a_canary_does_not_contain_it() -> None:
    first, second = CANARY.parts()
    assert Search([CANARY]).look("code", f'$x = "{first}${{empty}}{second}"') == []


def test_cells_of_a_database_are_found_with_their_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (a TEXT, b BLOB, c INTEGER)")
        connection.execute("INSERT INTO t VALUES (?, ?, 1)", ("open", zlib.compress(VALUE * 3)))
    search = Search([CANARY])
    hits = [found for where, data in cells(path) for found in search.look("cells", data, where)]
    assert {found.where for found in hits} == {"t.b (compressed)"}
