"""ini_setting: one setting in a file with sections. The file is made if it is not there."""

import hashlib
from collections.abc import Sequence
from typing import Any

from precast.resources import issues as shared
from precast.resources.contract import Change, Handler, Node, State, Wanted
from precast.resources.files import editing, parameters
from precast.resources.files.ini import Document, Style

_NEW_MODE = 0o644
_HIDDEN = "[redacted sensitive information]"


class IniSetting(Handler):
    can_refresh = True

    def __init__(self, wanted: Wanted, node: Node) -> None:
        super().__init__(wanted, node)
        for name in ("path", "setting"):
            if wanted.get(name) is None:
                raise shared.MISSING_VALUE.error(type="ini_setting", name=name, reason="it says where the value is")
        self._path = parameters.path_of(wanted)
        self._section = str(wanted.get("section", ""))
        self._setting = str(wanted.get("setting"))
        self._is_absent = parameters.choice(wanted, "ensure", ("present", "absent")) == "absent"
        self._value = _text(wanted)
        if self._value is None and not self._is_absent:
            raise shared.MISSING_VALUE.error(type="ini_setting", name="value", reason="the setting is to be there")
        self._is_late = parameters.flag(wanted, "refreshonly", False)
        self._makes_section = parameters.flag(wanted, "force_new_section_creation", True)
        self._shows = wanted.get("show_diff", True)
        self._style = Style(
            str(wanted.get("section_prefix", "[")),
            str(wanted.get("section_suffix", "]")),
            str(wanted.get("key_val_separator", " = ")),
            str(wanted.get("indent_char", " ")),
            parameters.number(wanted, "indent_width"),
        )

    def read(self) -> State:
        document = self._document()
        found = document.value(self._section, self._setting)
        return {"ensure": "absent"} if found is None else {"ensure": "present", "value": found}

    def _document(self) -> Document:
        data = editing.content(self.node, self._path)
        return Document((data or b"").decode("utf-8", "surrogateescape"), self._style)

    def compare(self, state: State) -> Sequence[Change]:
        return () if self._is_late else self._differences(state)

    def _differences(self, state: State) -> Sequence[Change]:
        present = state["ensure"]
        if self._is_absent:
            return (Change("ensure", present, "absent", "removed"),) if present != "absent" else ()
        if present == "absent":
            if not self._makes_section and not self._document().has_section(self._section):
                return ()
            return (Change("ensure", "absent", "present", "created"),)
        if state["value"] == self._value:
            return ()
        is_secret = bool(self.wanted.secrets)
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
        document = self._document()
        if self._is_absent:
            document.remove(self._section, self._setting)
        else:
            document.set(self._section, self._setting, self._value or "")
        editing.replace(self.node, self._path, document.text.encode("utf-8", "surrogateescape"), _NEW_MODE)

    def refresh(self) -> None:
        """With refreshonly: make the change now."""
        if self._is_late:
            for change in self._differences(self.read()):
                self.apply(change)


def _text(wanted: Wanted) -> str | None:
    value = wanted.get("value")
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        raise parameters.bad(wanted, "value", value, "a text, a number or a boolean")
    return str(value).strip()
