"""One data file in one compile: whether it exists, and its value for a key."""

import re
from typing import Any, Final

from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.lang.datatypes import mismatch, parse_type
from precast.lang.functions.host import Host
from precast.lang.hiera import issues
from precast.lang.hiera.data import files
from precast.lang.hiera.locations import Location
from precast.lang.inputs import ABSENT, DataFile, DataKey
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.values.base import Hash
from precast.lang.values.unknowns import UnknownText, join

_HASH: Final = parse_type("Hash")
_NOT_ASKED: Final = object()


class DataSource:
    """A data file and the function that reads it. Each key is asked for once and then cached for the compile."""

    def __init__(self, host: Host, location: Location, reader: str) -> None:
        self._host = host
        self._location = location
        self._reader = reader
        self._values: dict[str, Any] = {}
        digest = host.inputs.ask(DataFile(location.path))
        self.exists = digest is not ABSENT
        self._digest = digest
        self._has_warned = False

    def raw(self, key: str) -> files.RawValue | None:
        """The value of a key as written; None if the file does not have it. Raises the file's error, with its place."""
        value = self._values.get(key, _NOT_ASKED)
        if value is _NOT_ASKED:
            value = self._values[key] = self._ask(key)
        return value  # type: ignore[no-any-return]

    def _ask(self, key: str) -> files.RawValue | None:
        self._host.inputs.ask(DataKey(self._location.path, key, self._reader))
        content = self.content()
        value = content.raw(key)
        if value is not None and not value.is_data:
            error = issues.NO_DATA.error(key=key)
            self.set_place(error, key)
            raise error
        return value

    def content(self) -> files.Content:
        """The file's content. Raises if it is not a hash; for YAML, which Puppet always tolerated, it only warns."""
        content = files.content(self._digest, self._reader, self._host.inputs.content_of)
        if content.problem is not None:
            raise self._placed(content.problem, content.text)
        if (content.document is files.EMPTY or not isinstance(content.document, Hash)) and not self._has_warned:
            self._report_no_hash(content)
        return content

    def _report_no_hash(self, content: files.Content) -> None:
        if self._reader == "json_data":
            subject = f"Value returned from data_hash function 'json_data', when using location '{self.shown}',"
            raise issues.WRONG_DATA.error(
                reason=mismatch.describe(f"{subject} has wrong type,", _HASH, content.document)
            )
        if self._host.settings.strict == "error" and content.document is not files.EMPTY:
            raise issues.NO_DATA_HASH.error(path=self.shown)
        self._has_warned = True
        self._host.log("warning", self.sentence("", ": file does not contain a valid yaml hash"))

    def sentence(self, before: str, after: str) -> Any:
        """A log line that names the file; holes in its location stay holes."""
        location = self._location.shown
        if isinstance(location, str):
            return f"{before}{self._host.shown_path(location)}{after}"
        is_absolute = isinstance(location, UnknownText) and str(location.parts[0]).startswith("/")
        return join((before, "" if is_absolute else self._host.shown_path(""), location, after))

    @property
    def shown(self) -> str:
        """The file's path as messages show it; asks for the facts in it."""
        return self._host.shown_path(ruby_text(self._host.concrete(self._location.shown, None)))

    def set_place(self, error: PrecastError, key: str) -> None:
        """Point an error in a value of this file at its key."""
        text = self.content().text
        match = re.search(rf"""^['"]?{re.escape(key)}['"]?\s*:""", text, re.MULTILINE)
        error.source = Source(ruby_text(self._host.concrete(self._location.shown, None)), text)
        error.span = Span(match.start(), match.end() - 1) if match else Span(0, 0)

    def _placed(self, error: PrecastError, text: str) -> PrecastError:
        path = ruby_text(self._host.concrete(self._location.shown, None))
        return type(error)(error.code, error.message, error.hint, Source(path, text), error.span)
