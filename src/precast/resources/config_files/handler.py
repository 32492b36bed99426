"""Types whose resources are each one setting of a configuration file: nova_config and the like.

There is one class for each type, made of what the catalog says of the type. Files of the `single` syntax are written by the code of
ini_setting.
"""

import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NoReturn, Protocol

from precast.resources import issues, issues_modules, properties
from precast.resources.config_files.multiple import MultipleDocument
from precast.resources.contract import Change, DesiredResource, Handler, Instance, ManagedNode, State
from precast.resources.files import parameters, small_files
from precast.resources.files.ini import Document, Style
from precast.resources.files.safe_reads import FileContent
from precast.resources.ini_setting import LOCK, NEW_MODE
from precast.types.declaration import ConfigFileType

_IMMUTABLE = "<_IMMUTABLE_>"
_OLD_SECRET, _NEW_SECRET = "[old secret redacted]", "[new secret redacted]"
_BOOLEAN = re.compile(r"^(?:true|false)$", re.IGNORECASE | re.MULTILINE)
_INSPECTED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


class _SettingsFile(Protocol):
    @property
    def text(self) -> str: ...
    def values(self, section: str, setting: str) -> list[str] | None: ...
    def names(self) -> Iterable[tuple[str, str]]: ...
    def set(self, section: str, setting: str, values: list[str]) -> None: ...
    def remove(self, section: str, setting: str) -> None: ...


class _SingleDocument:
    """A file of ini_setting, where the last of several values counts."""

    def __init__(self, text: str, separator: str) -> None:
        self._document = Document(text, Style(separator=separator))
        self.names = self._document.names
        self.remove = self._document.remove

    @property
    def text(self) -> str:
        return self._document.text

    def values(self, section: str, setting: str) -> list[str] | None:
        value = self._document.value(section, setting)
        return None if value is None else [value]

    def set(self, section: str, setting: str, values: list[str]) -> None:
        self._document.set(section, setting, values[0] if values else "")


class ConfigSetting(Handler):
    locks: ClassVar[tuple[str, ...]] = (LOCK,)
    known: ClassVar[ConfigFileType]

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        known = self.known
        unknown = sorted(resource.parameters.keys() - {"name", *known.attributes})
        if unknown:
            raise issues_modules.NOT_NATIVE.error(type=resource.type, reason=f"it has no parameter {unknown[0]}")
        self._name = str(resource.get("name", resource.title))
        if not re.search(known.name_pattern, self._name, re.MULTILINE):
            raise properties.invalid_value(resource, "name", self._name, f"it must match /{known.name_pattern}/")
        section, slash, setting = self._name.partition("/") if known.has_sections else ("", "/", self._name)
        self._section, self._setting = section, setting if slash else section
        self._path = self._find_path()
        self._separator = str(resource.get("key_val_separator", known.separator)) if known.takes_separator else ""
        self._desired = self._values()
        self._is_secret = "secret" in known.attributes and properties.read_boolean(resource, "secret")
        ensure = properties.one_of(resource, "ensure", ("present", "absent"))
        self._ensure = ensure or (None if self._desired is None else "present")
        if self._has_absent_value():
            self._ensure = "absent"

    @property
    def secret_properties(self) -> frozenset[str]:
        return super().secret_properties | ({"value"} if self._is_secret else frozenset())

    def read(self) -> State:
        values = self._document()[0].values(self._section, self._setting)
        if values is None:
            return {"ensure": "absent"}
        return {"ensure": "present", "value": values if self.known.syntax == "multiple" else values[-1]}

    def compare(self, state: State) -> Sequence[Change]:
        is_there = state["ensure"] != "absent"
        is_kept = self.known.keeps_immutable and self._desired == [_IMMUTABLE]
        if self._ensure == "absent":
            return (Change("ensure", "present", "absent", "removed"),) if is_there else ()
        if not is_there:
            return () if is_kept or self._ensure is None else (Change("ensure", "absent", "present", "created"),)
        if self._desired is None:
            return ()
        current = properties.as_texts(state["value"])
        desired = [self._munge(value) for value in current] if is_kept else self._desired
        return () if self._is_in_sync(current, desired) else (self._change(current, desired),)

    def _is_in_sync(self, current: list[str], desired: list[str]) -> bool:
        if self.known.syntax == "single":
            return current[-1] in desired
        # A value that occurs twice is never in sync, as in the modules.
        kept = [value for value in dict.fromkeys(current) if value in desired]
        return not desired or (len(current) == len(desired) and kept == current)

    def _change(self, current: list[str], desired: list[str]) -> Change:
        if self._is_secret:
            text = f"value changed {_OLD_SECRET} to {_NEW_SECRET}"
            return Change("value", _OLD_SECRET, _NEW_SECRET, text, is_sensitive=True)
        if self.known.syntax == "single":
            previous, wanted = current[-1], desired[0]
            shown = (previous, wanted) if self.known.shows_bare else map(properties.format_value, (previous, wanted))
            return Change("value", previous, wanted, properties.change_message("value", *shown))
        show = _inspect if self.known.shows_bare else properties.format_value
        return Change("value", current, desired, properties.change_message("value", show(current), show(desired)))

    def apply(self, change: Change) -> None:
        document, found = self._document()
        if self._ensure == "absent":
            document.remove(self._section, self._setting)
        else:
            desired = self._desired or []
            if self.known.keeps_immutable and desired == [_IMMUTABLE]:
                desired = [self._munge(value) for value in document.values(self._section, self._setting) or []]
            document.set(self._section, self._setting, desired or [""])
        data = document.text.encode("utf-8", "surrogateescape")
        small_files.replace_content(self.node, self._path, data, found, NEW_MODE)

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        if not cls.can_be_purged:
            raise issues.NOT_LISTED.error(type=cls.__name__)
        document, _ = _read(node, cls.known, cls.known.path, cls.known.separator)
        for section, setting in document.names():
            name = f"{section}/{setting}"
            if re.search(cls.known.name_pattern, name, re.MULTILINE):
                yield Instance(name, {"value": document.values(section, setting)})

    def _document(self) -> tuple[_SettingsFile, FileContent | None]:
        return _read(self.node, self.known, self._path, self._separator or self.known.separator)

    def _find_path(self) -> str:
        if self.known.may_move and self.resource.get("path"):
            return parameters.path_of(self.resource)
        if not self.known.path:
            raise issues.MISSING_VALUE.error(
                type=self.resource.type, name="path", reason="it says which file has the setting"
            )
        return self.known.path

    def _values(self) -> list[str] | None:
        given = self.resource.get("value")
        if given is None:
            return None
        values = given if isinstance(given, list) else [given]
        for value in values:
            if isinstance(value, dict | list):
                self._refuse(value, "it is a text, a number or a boolean")
            if not re.search(self.known.value_pattern, _text(value), re.MULTILINE):
                self._refuse(value, f"it must match /{self.known.value_pattern}/")
        munged = [self._munge(_text(value)) for value in values]
        # The modules quote for any value of `quote`, also for false.
        if self.known.takes_quote and self.resource.get("quote") is not None and not self._is_absent_value(munged):
            munged = [value if value.startswith('"') else f'"{value}"' for value in munged]
        return munged

    def _refuse(self, value: Any, reason: str) -> NoReturn:
        shown = "what it is" if self.resource.get("secret") else value
        raise properties.invalid_value(self.resource, "value", shown, reason)

    def _munge(self, value: str) -> str:
        value = value.strip()
        if self.known.booleans == "keep" or not _BOOLEAN.search(value):
            return value
        return value.capitalize() if self.known.booleans == "capitalize" else value.lower()

    def _has_absent_value(self) -> bool:
        return self._desired is not None and self._is_absent_value(self._desired)

    def _is_absent_value(self, values: list[str]) -> bool:
        absent = self.resource.get("ensure_absent_val", self.known.absent_value)
        if self.known.syntax == "multiple":
            return values == (absent if isinstance(absent, list) else [absent])
        return values[:1] == [absent]


@functools.cache
def handler_of(type_name: str, known: ConfigFileType) -> type[ConfigSetting]:
    """The handler class of a type of the family."""
    attributes = {
        "known": known,
        "can_be_purged": known.is_listed and known.has_sections,
        # Its one file is no source of what snapshots contain.
        "invalidates": None if known.may_move else (),
    }
    return type(type_name, (ConfigSetting,), attributes)


def _read(
    node: ManagedNode, known: ConfigFileType, path: str, separator: str
) -> tuple[_SettingsFile, FileContent | None]:
    found = small_files.read_content(node, path)
    text = "" if found is None else found.data.decode("utf-8", "surrogateescape")
    return MultipleDocument(text) if known.syntax == "multiple" else _SingleDocument(text, separator), found


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _inspect(values: list[str]) -> str:
    """Values as Ruby shows an array."""
    return f"[{', '.join(map(_inspect_text, values))}]"


def _inspect_text(value: str) -> str:
    escaped = "".join(_INSPECTED.get(sign, sign) for sign in value)
    return '"' + re.sub(r"#(?=[{$@])", r"\\#", escaped) + '"'
