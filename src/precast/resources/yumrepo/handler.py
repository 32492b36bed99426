"""yumrepo: a repository of yum or dnf, a section of a file. Passwords are never shown."""

import re
from collections.abc import Iterable
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from precast.resources import properties
from precast.resources.contract import Change, DesiredResource, Instance, ManagedNode, State
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler
from precast.resources.text_files import read_lines
from precast.resources.yumrepo import repository_files
from precast.resources.yumrepo.repository_files import Section
from precast.types.yum import FLAGS, PATTERNS, PROPERTIES, URLS

_SCHEMES: Final = ("file", "http", "https", "ftp")
_FLAG: Final = re.compile(r"true|false|0|1|no|yes", re.IGNORECASE)
_VERSION: Final = re.compile(r"VERSION_ID=\"?([0-9]+)")


class Yumrepo(PropertyHandler):
    order: ClassVar[tuple[str, ...]] = tuple(PROPERTIES)
    can_be_purged: ClassVar[bool] = True
    locks: ClassVar[tuple[str, ...]] = ("yumrepo",)
    always_secret: ClassVar[frozenset[str]] = frozenset({"password", "proxy_password"})

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        target = resource.get("target")
        self._target = None if target in (None, ABSENT) else str(target)
        if not re.fullmatch(r"[^\s\[\]/][^\[\]\n/]*", self.name) or self.name == "main":
            raise properties.invalid_value(resource, "name", self.name, "it is the name of a section and of a file")

    def munge(self, name: str, value: Any) -> str:
        text = properties.format_value(value) if isinstance(value, bool) else str(value)
        if text == ABSENT:
            return text
        if re.search(r"\n(?![ \t]+\S)", text):
            raise properties.invalid_value(self.resource, name, value, "further lines begin with a blank")
        if name in FLAGS:
            if not _FLAG.fullmatch(text):
                raise properties.invalid_value(self.resource, name, value, "true, false, 1, 0, yes or no")
            return text.capitalize()
        if name in PATTERNS and not re.fullmatch(PATTERNS[name], text):
            raise properties.invalid_value(self.resource, name, value, f"it matches {PATTERNS[name]}")
        if name == "proxy" and text in ("", "_none_"):
            return "" if self._release >= 8 else text
        if name in URLS:
            self._check_urls(name, text)
        return text

    def _check_urls(self, name: str, text: str) -> None:
        for url in text.split() if name in ("baseurl", "gpgkey") else [text]:
            try:
                scheme = urlsplit(url).scheme
            except ValueError:
                scheme = ""
            if scheme not in _SCHEMES:
                raise properties.invalid_value(self.resource, name, text, f"a URL of {', '.join(_SCHEMES)}")

    @property
    def _release(self) -> int:
        """The first number of the system's version; 0 if it has none."""
        match = _VERSION.search("\n".join(read_lines(self.node, "/etc/os-release").lines))
        return 0 if match is None else int(match[1])

    def read(self) -> State:
        section = self._find()
        if section is None or (self._target is not None and section.file != self._place):
            return {"ensure": ABSENT}
        return {"ensure": PRESENT, **_properties(section)}

    def _find(self) -> Section | None:
        return next((each for each in repository_files.all_sections(self.node) if each.name == self.name), None)

    @property
    def _place(self) -> str:
        return repository_files.place_for(self.node, self.name, self._target)

    def apply(self, change: Change) -> None:
        section = self._find()
        if change.property == "ensure" and change.desired == ABSENT:
            if section is not None:
                repository_files.remove_section(self.node, section.file, self.name)
            return
        if change.property == "ensure":
            self._create(section)
        elif section is not None:
            repository_files.write_section(
                self.node, section.file, self.name, _entries({change.property: change.desired})
            )

    def _create(self, elsewhere: Section | None) -> None:
        """Add the repository to its file; one that is in another file moves there with what it has."""
        kept = {} if elsewhere is None else {key: entry.value for key, entry in elsewhere.entries.items()}
        repository_files.write_section(self.node, self._place, self.name, {**kept, **_entries(self.desired)})
        if elsewhere is not None:
            repository_files.remove_section(self.node, elsewhere.file, self.name)

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        for section in repository_files.all_sections(node):
            yield Instance(section.name, {"ensure": PRESENT, **_properties(section)})


def _properties(section: Section) -> dict[str, str]:
    named = {"descr" if key == "name" else key: entry.value for key, entry in section.entries.items()}
    return {name: value for name, value in named.items() if name in PROPERTIES}


def _entries(values: dict[str, Any]) -> dict[str, str | None]:
    """Values by the keys that the file has for them."""
    return {"name" if key == "descr" else key: None if value == ABSENT else value for key, value in values.items()}
