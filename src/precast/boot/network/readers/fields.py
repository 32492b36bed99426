"""One value of a document with its place: asked for as what it should be, it answers or says what is wrong and where.

What is wrong raises. A key that nobody knows only warns: a machine must not lose its network over a word from a newer version.
"""

import difflib
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from precast.base.errors import Issue, PrecastError
from precast.base.spans import Source, Span
from precast.boot.modules.shapes import Path, place
from precast.boot.network import issues

_WORD = re.compile(r"[^\s:,\]}]+")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.ASCII)
_NAME = re.compile(r"[^\s/\x00:]{1,15}")
MAX_MTU = 65535
MAX_VLAN = 4094
_YES = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}
T = TypeVar("T")


class Document(NamedTuple):
    """A value with, if it was a text, where in that each key and item stands. Values out of a larger answer have no places."""

    name: str
    value: Any
    source: Source | None = None
    offsets: Mapping[Path, int] = {}

    def span(self, path: Path) -> Span | None:
        """The word at a path: the key of an entry, the beginning of an item."""
        offset = self.offsets.get(path)
        if self.source is None or offset is None:
            return None
        word = _WORD.match(self.source.text, offset)
        return Span(offset, word.end() if word else offset + 1)


class Field:
    """A value at a path of a document."""

    def __init__(self, document: Document, value: Any, path: Path, warnings: list[PrecastError]) -> None:
        self._document = document
        self._path = path
        self.value = value
        self.warnings = warnings

    @property
    def shown(self) -> str:
        return place(self._path) or self._document.name

    def error(self, issue: Issue, /, **values: object) -> PrecastError:
        """An error about this value, with its place."""
        return issue.error(self._document.source, self._document.span(self._path), **values)

    def wrong(self, wanted: str, advice: str = "") -> PrecastError:
        advice = advice or f"write {wanted}"
        return self.error(issues.BAD_VALUE, path=self.shown, value=_short(self.value), wanted=wanted, advice=advice)

    # Maps and lists

    def entries(self) -> Iterator[tuple[str, "Field"]]:
        """The entries of a map; nothing at all is an empty one."""
        if self.value is None:
            return
        if not isinstance(self.value, Mapping):
            raise self.wrong("a map")
        for name, value in self.value.items():
            yield str(name), Field(self._document, value, (*self._path, name), self.warnings)

    def items(self) -> "list[Field]":
        """The items of a list; nothing at all is an empty one."""
        if self.value is None:
            return []
        if not isinstance(self.value, list | tuple):
            raise self.wrong("a list", "write it as a list, an item a line, each after a dash")
        below = enumerate(self.value)
        return [Field(self._document, value, (*self._path, number), self.warnings) for number, value in below]

    def get(self, name: str) -> "Field | None":
        """An entry of a map that has a value."""
        found = dict(self.entries()).get(name)
        return None if found is None or found.value is None else found

    def need(self, name: str) -> "Field":
        found = self.get(name)
        if found is None:
            raise self.error(issues.MISSING_KEY, path=self.shown, name=name)
        return found

    def read(self, name: str, kind: "Callable[[Field], T]", default: T) -> T:
        found = self.get(name)
        return default if found is None else kind(found)

    def maybe(self, name: str, kind: "Callable[[Field], T]") -> T | None:
        found = self.get(name)
        return None if found is None else kind(found)

    def listed(self, name: str) -> "list[Field]":
        """The items of the list under a key; none if it is not there."""
        found = self.get(name)
        return [] if found is None else found.items()

    def words(self, name: str) -> tuple[str, ...]:
        """The texts of the list under a key; none if it is not there."""
        found = self.get(name)
        return () if found is None else found.texts()

    def servers(self, name: str) -> tuple[str, ...]:
        """The addresses of the list under a key; none if it is not there."""
        found = self.get(name)
        return () if found is None else found.ips()

    def check_keys(self, known: set[str] | frozenset[str]) -> None:
        """Warn of every key that is not one of these."""
        for name, field in self.entries():
            if name not in known:
                near = difflib.get_close_matches(name, sorted(known), n=1)
                guess = f", did you mean {near[0]}?" if near else ""
                names = ", ".join(sorted(known))
                self.warnings.append(
                    field.error(issues.UNKNOWN_KEY, path=self.shown, name=name, guess=guess, names=names)
                )

    # Plain values

    def text(self) -> str:
        if isinstance(self.value, bool) or not isinstance(self.value, str | int | float):
            raise self.wrong("text")
        if not str(self.value).isprintable():  # it becomes a part of a line in some file
            raise self.wrong("text on one line", "leave control characters out")
        return str(self.value)

    def texts(self) -> tuple[str, ...]:
        """A list of texts; one text stands for a list of one, or of several with blanks between."""
        if isinstance(self.value, str):
            return tuple(self.value.replace(",", " ").split())
        return tuple(item.text() for item in self.items())

    def flag(self) -> bool:
        if isinstance(self.value, bool):
            return self.value
        if isinstance(self.value, int) and self.value in (0, 1):  # as some clouds write it in JSON
            return bool(self.value)
        if isinstance(self.value, str) and self.value.lower() in _YES:
            return _YES[self.value.lower()]
        raise self.wrong("true or false")

    def number(self, least: int = 0, most: int = 2**32 - 1) -> int:
        value = self.value
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.wrong(f"a number from {least} to {most}")
        return value

    def mtu(self) -> int:
        return self.number(1, MAX_MTU)

    def vlan(self) -> int:
        return self.number(0, MAX_VLAN)

    def choice(self, *words: str) -> str:
        if str(self.value) not in words:
            raise self.wrong(f"one of {', '.join(words)}")
        return str(self.value)

    def mac(self) -> str:
        found = str(self.value).lower()
        if len(found) == 12 and ":" not in found:
            found = ":".join(found[at : at + 2] for at in range(0, 12, 2))
        if not _MAC.fullmatch(found):
            advice = "write it as 52:54:00:12:34:56, in quotes: YAML takes some for numbers"
            raise self.wrong("a MAC address", advice)
        return found

    def device_name(self) -> str:
        if not isinstance(self.value, str) or not _NAME.fullmatch(self.value) or self.value in (".", ".."):
            raise self.wrong("the name of a device", "use at most 15 characters, without blanks, slashes and colons")
        return self.value

    # Addresses

    def ip(self) -> str:
        try:
            return str(ipaddress.ip_address(self.text().partition("%")[0]))
        except ValueError:
            raise self.wrong("an IP address", "write 192.0.2.1 or 2001:db8::1") from None

    def ips(self) -> tuple[str, ...]:
        if isinstance(self.value, str):
            parts = self.value.replace(",", " ").split()
            return tuple(Field(self._document, part, self._path, self.warnings).ip() for part in parts)
        return tuple(item.ip() for item in self.items())

    def interface_address(self) -> str:
        """An address with its prefix, as 192.0.2.1/24. One without is an error: what it would mean is nobody's guess."""
        text = self.text()
        if "/" not in text:
            raise self.wrong("an address with the length of its prefix", f"write {text}/24, or what the network has")
        try:
            return str(ipaddress.ip_interface(text))
        except ValueError:
            raise self.wrong("an address with the length of its prefix", "write 192.0.2.1/24") from None

    def network(self) -> str:
        """A network as CIDR; bits of a host in it are dropped, as the kernel would refuse them."""
        try:
            return str(ipaddress.ip_network(self.text(), strict=False))
        except ValueError:
            raise self.wrong("a network", "write 192.0.2.0/24, or default") from None


def _short(value: object) -> str:
    text = repr(value) if not isinstance(value, str) else value or "''"
    return text if len(text) <= 60 else f"{text[:57]}…"
