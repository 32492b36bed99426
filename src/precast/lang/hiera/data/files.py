"""Data files as a compile sees them: parsed once per content, and read key by key.

The trace has the digest of a file, and below it the digest of each value read from it: if a new version of the file has the same
values for those keys, the catalog stays valid. A file that is unreadable or not a hash answers every key with the file's digest, so
any other content gives another answer. A file with very many keys does so, too, which bounds what a server keeps of it. Nothing is
taken from a file before a key of it was asked for. On servers these digests are HMACs under a key of the environment: a plain digest of
a short value would tell the value.
"""

import hashlib
import hmac
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
from precast.lang.values.base import Hash, rich


def _read_ruby_facts(source: Source) -> Hash:
    """The facts that a Ruby file adds, with their lines; none if the file cannot be read."""
    from precast.lang.ruby.declarations.facts import added_facts  # few compiles need it
    from precast.lang.ruby.declarations.ruby_file import load_ruby_file

    file = load_ruby_file("", digests.of_bytes(source.text.encode()), source.text)
    facts = added_facts(file) if file is not None else []
    return Hash.of((fact.name, fact.line) for fact in facts if fact.name is not None)


def _read_refused_facts(source: Source) -> Hash:
    """The facts that a Ruby file adds and that no node reads, with their lines."""
    from precast.lang.module_facts.checking import refused_facts  # few compiles need it

    return Hash.of(refused_facts(source).items())


def _read_text_facts(source: Source) -> Hash:
    """The facts of a text file of external facts: lines of `name=value`."""
    pairs = [line.partition("=") for line in source.text.splitlines()]
    return Hash.of((name, value) for name, sign, value in pairs if sign and name)


# The last three are for files in which modules add facts.
READERS: Final[dict[str, Callable[[Source], Any]]] = {
    "yaml_data": read_yaml,
    "json_data": read_json,
    "ruby_facts": _read_ruby_facts,
    "refused_ruby_facts": _read_refused_facts,
    "text_facts": _read_text_facts,
}
# Contents by digest and reader. The limit is generous: a worker serves one version of an environment.
_contents: dict[tuple[str, str], "Content"] = {}
_MAX_CONTENTS = 20_000
# Of a file with more keys the trace has only the digest of the whole file.
MAX_TRACED_KEYS: Final = 20_000


EMPTY: Final = Hash()  # the content of an empty YAML file


class RawValue(NamedTuple):
    """A value as written in a file: whether it contains `%{…}` to interpolate, and whether it is valid data."""

    value: Any
    has_expressions: bool
    is_data: bool


class Content:
    """The content of a data file. `entries` is empty if the file is not a hash or cannot be read."""

    def __init__(self, digest: digests.Digest, text: str, document: Any, problem: PrecastError | None) -> None:
        self.digest = digest
        self.text = text
        self.document = document
        self.problem = problem
        self._is_broken = problem is not None or not isinstance(document, Hash)
        self.entries: Hash = document if isinstance(document, Hash) else Hash()
        self._raws: dict[str, RawValue | None] = {}
        self._digests: dict[tuple[bytes, str], Answer] = {}

    def raw(self, key: str) -> RawValue | None:
        """The value of a key; None if the file does not have it."""
        if key not in self._raws:
            self._raws[key] = _raw_value(self.entries[key]) if key in self.entries else None
        return self._raws[key]

    def answer(self, key: str, answer_key: bytes) -> Answer:
        """The answer for a key in the trace: the digest of its value under the environment's key, or ABSENT."""
        if self.common_answer is not None:
            return self.common_answer
        if key not in self.entries:
            return ABSENT
        if (answer_key, key) not in self._digests:
            # The digest covers the order of a hash's entries, which an iteration can see.
            data = json.dumps(rich(self.entries[key])).encode()
            self._digests[answer_key, key] = hmac.digest(answer_key, data, hashlib.sha256).hex()
        return self._digests[answer_key, key]

    @property
    def common_answer(self) -> str | None:
        """The answer for every key, if the file is not a hash, cannot be read or has too many keys."""
        if self._is_broken:
            return f"broken:{self.digest}"
        return f"whole:{self.digest}" if len(self.entries) > MAX_TRACED_KEYS else None

    @property
    def keys(self) -> list[str]:
        """The keys that a compile can ask for."""
        return [key for key in self.entries if isinstance(key, str)]


def content(digest: digests.Digest, reader: str, load: Callable[[digests.Digest], bytes]) -> Content:
    """The content of a data file, parsed once per digest."""
    key = (digest, reader)
    parsed = _contents.get(key)
    if parsed is None:
        if len(_contents) >= _MAX_CONTENTS:
            _contents.clear()
        parsed = _contents[key] = read_content(digest, reader, load(digest))
    return parsed


def read_content(digest: digests.Digest, reader: str, data: bytes) -> Content:
    """Parse a data file. A file that cannot be read is a content with a problem."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Content(digest, "", None, issues_compiler.NOT_UTF8.error(path="the data file", offset=error.start))
    try:
        document = READERS[reader](Source("", text))
    except PrecastError as error:
        return Content(digest, text, None, error)
    if reader == "yaml_data" and document in (None, False):
        document = EMPTY  # warned about, and otherwise treated as a file without keys
    return Content(digest, text, document, None)


def _raw_value(value: Any) -> RawValue:
    has_expressions, is_data = _examine(value)
    return RawValue(value, has_expressions, is_data)


def _examine(value: Any) -> tuple[bool, bool]:
    if isinstance(value, Symbol):
        return False, False
    if isinstance(value, str):
        return "%{" in value, True
    if isinstance(value, tuple):
        parts = [_examine(item) for item in value]
    elif isinstance(value, Hash):
        if not all(isinstance(key, str | int | float) and not isinstance(key, bool) for key in value):
            return False, False
        parts = [_examine(item) for pair in value.items() for item in pair]
    else:
        return False, True
    return any(has_expressions for has_expressions, _ in parts), all(is_data for _, is_data in parts)
