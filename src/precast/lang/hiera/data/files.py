"""Data files as a compile sees them: read once for their content, and asked for key by key.

The trace has the digest of a file, and below it the digest of each value that was read from it: where a new file has the same
values under those keys, the catalog stays. A file that cannot be read, or is no hash, answers every key with its own digest, so that
any other content is another answer; nothing is taken from a file before a key of it was asked for.
"""

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from precast.base import digests
from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.hiera.data.documents import read_json, read_yaml
from precast.lang.hiera.data.scalars import Symbol
from precast.lang.inputs import ABSENT, Answer
from precast.lang.issues import compiler as issues_compiler
from precast.lang.values.core import Hash, rich

READERS: Final[dict[str, Callable[[Source], Any]]] = {"yaml_data": read_yaml, "json_data": read_json}
# Contents by digest and reader. Bounded: a worker serves one version of an environment.
_contents: dict[tuple[str, str], "Content"] = {}
_CONTENTS_KEPT = 20_000


EMPTY: Final = Hash()  # what a YAML file without content holds


class Raw(NamedTuple):
    """A value as it stands in a file: whether something in it is to be interpolated, and whether it is data at all."""

    value: Any
    is_open: bool
    is_data: bool


class Content:
    """What a data file holds. `entries` is empty where the file is no hash, or cannot be read."""

    def __init__(self, digest: digests.Digest, text: str, document: Any, problem: PrecastError | None) -> None:
        self.digest = digest
        self.text = text
        self.document = document
        self.problem = problem
        self._is_broken = problem is not None or not isinstance(document, Hash)
        self.entries: Hash = document if isinstance(document, Hash) else Hash()
        self._raws: dict[str, Raw | None] = {}
        self._digests: dict[str, Answer] = {}

    def raw(self, key: str) -> Raw | None:
        """The value of a key, None if the file does not have it."""
        if key not in self._raws:
            self._raws[key] = _looked_at(self.entries[key]) if key in self.entries else None
        return self._raws[key]

    def answer(self, key: str) -> Answer:
        """What the trace keeps of a key: the digest of its value, or its absence."""
        if self._is_broken:
            return f"broken:{self.digest}"
        if key not in self.entries:
            return ABSENT
        if key not in self._digests:
            # In the order written, which iteration over a hash shows.
            self._digests[key] = digests.of_bytes(json.dumps(rich(self.entries[key])).encode())
        return self._digests[key]


def content(digest: digests.Digest, reader: str, load: Callable[[digests.Digest], bytes]) -> Content:
    """The content of a data file, read once for its digest."""
    key = (digest, reader)
    found = _contents.get(key)
    if found is None:
        if len(_contents) >= _CONTENTS_KEPT:
            _contents.clear()
        found = _contents[key] = _read(digest, reader, load(digest))
    return found


def _read(digest: digests.Digest, reader: str, data: bytes) -> Content:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Content(digest, "", None, issues_compiler.NOT_UTF8.error(path="the data file", offset=error.start))
    try:
        document = READERS[reader](Source("", text))
    except PrecastError as error:
        return Content(digest, text, None, error)
    if reader == "yaml_data" and document in (None, False):
        document = EMPTY  # told of, and otherwise as good as a file without keys
    return Content(digest, text, document, None)


def _looked_at(value: Any) -> Raw:
    is_open, is_data = _examined(value)
    return Raw(value, is_open, is_data)


def _examined(value: Any) -> tuple[bool, bool]:
    if isinstance(value, Symbol):
        return False, False
    if isinstance(value, str):
        return "%{" in value, True
    if isinstance(value, tuple):
        found = [_examined(item) for item in value]
    elif isinstance(value, Hash):
        if not all(isinstance(key, str | int | float) and not isinstance(key, bool) for key in value):
            return False, False
        found = [_examined(item) for pair in value.items() for item in pair]
    else:
        return False, True
    return any(is_open for is_open, _ in found), all(is_data for _, is_data in found)
