"""One data file in one compile: whether it is there, and what it has under a key."""

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
from precast.lang.ruby.text import ruby_text
from precast.lang.values.core import Hash
from precast.lang.values.unknowns import Joined, join

_HASH: Final = parse_type("Hash")
_UNASKED: Final = object()


class DataSource:
    """A data file with the function that reads it. Each key is a question once; what it answers is kept for the compile."""

    def __init__(self, host: Host, location: Location, reader: str) -> None:
        self._host = host
        self._location = location
        self._reader = reader
        self._values: dict[str, Any] = {}
        digest = host.inputs.ask(DataFile(location.path))
        self.exists = digest is not ABSENT
        self._digest = digest
        self._is_told = False

    def raw(self, key: str) -> files.Raw | None:
        """The value of a key as written, None if the file does not have it. Raises what is wrong with the file, with its place."""
        found = self._values.get(key, _UNASKED)
        if found is _UNASKED:
            found = self._values[key] = self._asked(key)
        return found  # type: ignore[no-any-return]

    def _asked(self, key: str) -> files.Raw | None:
        self._host.inputs.ask(DataKey(self._location.path, key, self._reader))
        content = self.content()
        found = content.raw(key)
        if found is not None and not found.is_data:
            error = issues.NO_DATA.error(key=key)
            self.give_place(error, key)
            raise error
        return found

    def content(self) -> files.Content:
        """What the file holds. Raises where that is no hash; an elder habit of YAML files is only warned of."""
        content = files.content(self._digest, self._reader, self._host.inputs.content_of)
        if content.problem is not None:
            raise self._placed(content.problem, content.text)
        if (content.document is files.EMPTY or not isinstance(content.document, Hash)) and not self._is_told:
            self._tell(content)
        return content

    def _tell(self, content: files.Content) -> None:
        if self._reader == "json_data":
            subject = f"Value returned from data_hash function 'json_data', when using location '{self.shown}',"
            raise issues.WRONG_DATA.error(
                reason=mismatch.describe(f"{subject} has wrong type,", _HASH, content.document)
            )
        if self._host.settings.strict == "error" and content.document is not files.EMPTY:
            raise issues.NO_DATA_HASH.error(path=self.shown)
        self._is_told = True
        self._host.log("warning", self.sentence("", ": file does not contain a valid yaml hash"))

    def sentence(self, before: str, after: str) -> Any:
        """A text with the file's place in it, for the log: what the place leaves open stays open."""
        place = self._location.shown
        if isinstance(place, str):
            return f"{before}{self._host.shown_path(place)}{after}"
        is_absolute = isinstance(place, Joined) and str(place.parts[0]).startswith("/")
        return join((before, "" if is_absolute else self._host.shown_path(""), place, after))

    @property
    def shown(self) -> str:
        """Where the file is, for people: the node's own facts are asked for."""
        return self._host.shown_path(ruby_text(self._host.concrete(self._location.shown, None)))

    def give_place(self, error: PrecastError, key: str) -> None:
        """Makes an error in a value of this file point at its key."""
        text = self.content().text
        found = re.search(rf"""^['"]?{re.escape(key)}['"]?\s*:""", text, re.MULTILINE)
        error.source = Source(ruby_text(self._host.concrete(self._location.shown, None)), text)
        error.span = Span(found.start(), found.end() - 1) if found else Span(0, 0)

    def _placed(self, error: PrecastError, text: str) -> PrecastError:
        path = ruby_text(self._host.concrete(self._location.shown, None))
        return type(error)(error.code, error.message, error.hint, Source(path, text), error.span)
