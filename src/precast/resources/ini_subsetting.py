"""ini_subsetting: one item of a setting whose value is a list, in a file with sections. A missing file is created."""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from precast.base.scrubbing import REDACTED
from precast.resources import issues as shared
from precast.resources import properties
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.files import parameters, small_files
from precast.resources.files.ini import Document, Style
from precast.resources.files.safe_reads import FileContent
from precast.resources.files.subsettings import Subsettings, SubsettingStyle
from precast.resources.text_files import as_owner

_NEW_MODE: Final = 0o644
_PLACES: Final = ("end", "start", "before", "after", "index")


class IniSubsetting(Handler):
    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        for name in ("path", "setting", "subsetting"):
            if resource.get(name) is None:
                raise shared.MISSING_VALUE.error(type="ini_subsetting", name=name, reason="it says where the value is")
        self._path = parameters.path_of(resource)
        self._section, self._setting = str(resource.get("section", "")), str(resource.get("setting"))
        self._name = str(resource.get("subsetting"))
        self._is_absent = parameters.choice(resource, "ensure", ("present", "absent")) == "absent"
        value = resource.get("value")
        self._value = (
            None if value is None else properties.format_value(value) if isinstance(value, bool) else str(value)
        )
        self._shows = str(resource.get("show_diff", "true")).lower()
        self._place = parameters.choice(resource, "insert_type", _PLACES)
        self._reference = str(resource.get("insert_value", ""))
        self._style = Style(separator=str(resource.get("key_val_separator", " = ")))
        quote = str(resource.get("quote_char", ""))
        if quote not in ("", "'", '"'):
            raise properties.invalid_value(resource, "quote_char", quote, "it is empty, ' or \"")
        self._items = SubsettingStyle(
            str(resource.get("subsetting_separator", " ")),
            str(resource.get("subsetting_key_val_separator", "")),
            quote,
            properties.read_boolean(resource, "use_exact_match"),
        )

    def read(self) -> State:
        items = self._open()[1]
        if not items.has(self._name):
            return {"ensure": "absent"}
        return {"ensure": "present", "value": items.value(self._name)}

    def _open(self) -> tuple[Document, Subsettings, FileContent | None]:
        found = small_files.read_content(self.node, self._path)
        data = b"" if found is None else found.data
        document = Document(data.decode("utf-8", "surrogateescape"), self._style)
        return document, Subsettings(document.value(self._section, self._setting), self._items), found

    def compare(self, state: State) -> Sequence[Change]:
        present = state["ensure"]
        if self._is_absent:
            return (Change("ensure", present, "absent", "removed"),) if present != "absent" else ()
        if present == "absent":
            return (Change("ensure", "absent", "present", "created"),)
        if self._value is None or state["value"] == self._value:
            return ()
        before, after = self._shown(state["value"]), self._shown(self._value)
        return (Change("value", before, after, f"value changed {before} to {after}", is_sensitive=self._is_secret),)

    @property
    def _is_secret(self) -> bool:
        return bool(self.hidden_properties)

    def _shown(self, value: Any) -> str:
        if self._is_secret or self._shows not in ("true", "yes", "md5"):
            return REDACTED
        if self._shows == "md5":
            return "{md5}" + hashlib.md5(str(value).encode(), usedforsecurity=False).hexdigest()
        return str(value)

    def apply(self, change: Change) -> None:
        document, items, found = self._open()
        if self._is_absent:
            items.remove(self._name)
        else:
            items.set(self._name, self._value or "", self._place, self._reference)
        # As in the module: a setting that has no item left is removed, whatever `delete_if_empty` says.
        if self._is_absent and not items.text:
            document.remove(self._section, self._setting)
        else:
            document.set(self._section, self._setting, items.text)
        data = document.text.encode("utf-8", "surrogateescape")
        small_files.replace_content(self.node, self._path, data, found, _NEW_MODE, as_owner((0, 0)))
