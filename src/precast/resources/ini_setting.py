"""ini_setting: one setting in a file with sections. A missing file is created."""

import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar

from precast.resources import issues as shared
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.files import parameters, small_files
from precast.resources.files.ini import Document, Style
from precast.resources.files.safe_reads import FileContent

# Held while a file with settings is changed: two resources may change the same one.
LOCK = "ini"
NEW_MODE = 0o644
_HIDDEN = "[redacted sensitive information]"


class IniSetting(Handler):
    can_refresh = True
    locks: ClassVar[tuple[str, ...]] = (LOCK,)

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        for name in ("path", "setting"):
            if resource.get(name) is None:
                raise shared.MISSING_VALUE.error(type="ini_setting", name=name, reason="it says where the value is")
        self._path = parameters.path_of(resource)
        self._section = str(resource.get("section", ""))
        self._setting = str(resource.get("setting"))
        self._is_absent = parameters.choice(resource, "ensure", ("present", "absent")) == "absent"
        self._value = _text(resource)
        if self._value is None and not self._is_absent:
            raise shared.MISSING_VALUE.error(type="ini_setting", name="value", reason="the setting is to be there")
        self._is_late = parameters.flag(resource, "refreshonly", False)
        self._makes_section = parameters.flag(resource, "force_new_section_creation", True)
        self._shows = resource.get("show_diff", True)
        self._style = Style(
            str(resource.get("section_prefix", "[")),
            str(resource.get("section_suffix", "]")),
            str(resource.get("key_val_separator", " = ")),
            str(resource.get("indent_char", " ")),
            parameters.number(resource, "indent_width"),
        )

    def read(self) -> State:
        document, _ = self._document()
        value = document.value(self._section, self._setting)
        return {"ensure": "absent"} if value is None else {"ensure": "present", "value": value}

    def _document(self) -> tuple[Document, FileContent | None]:
        found = small_files.read_content(self.node, self._path)
        data = b"" if found is None else found.data
        return Document(data.decode("utf-8", "surrogateescape"), self._style), found

    def compare(self, state: State) -> Sequence[Change]:
        return () if self._is_late else self._differences(state)

    def _differences(self, state: State) -> Sequence[Change]:
        present = state["ensure"]
        if self._is_absent:
            return (Change("ensure", present, "absent", "removed"),) if present != "absent" else ()
        if present == "absent":
            if not self._makes_section and not self._document()[0].has_section(self._section):
                return ()
            return (Change("ensure", "absent", "present", "created"),)
        if state["value"] == self._value:
            return ()
        is_secret = bool(self.resource.secrets)
        before, after = self._shown(state["value"]), self._shown(self._value)
        text = f"value changed {_HIDDEN} to {_HIDDEN}" if is_secret else f"value changed {before} to {after}"
        return (Change("value", before, after, text, is_sensitive=is_secret),)

    def _shown(self, value: Any) -> str:
        if self._shows in (True, "true"):
            return str(value)
        if self._shows == "md5":
            return "{md5}" + hashlib.md5(str(value).encode(), usedforsecurity=False).hexdigest()
        return _HIDDEN

    def apply(self, change: Change) -> None:
        document, found = self._document()
        if self._is_absent:
            document.remove(self._section, self._setting)
        else:
            document.set(self._section, self._setting, self._value or "")
        data = document.text.encode("utf-8", "surrogateescape")
        small_files.replace_content(self.node, self._path, data, found, NEW_MODE)

    def refresh(self) -> None:
        """Apply the changes now, if refreshonly is set."""
        if self._is_late:
            for change in self._differences(self.read()):
                self.apply(change)


def _text(resource: DesiredResource) -> str | None:
    value = resource.get("value")
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        raise parameters.invalid_value(resource, "value", value, "a text, a number or a boolean")
    return str(value).strip()
