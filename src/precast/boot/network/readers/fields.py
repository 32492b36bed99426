"""A value of a document with its position: its methods return it as the expected type, or raise an error with the position.

An invalid value raises. An unknown key only warns: a machine must not lose its network because of a key from a newer version.
"""

import difflib
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from precast.base.errors import Issue, PrecastError
from precast.base.spans import Source, Span
from precast.boot.modules.schema import Path, format_path
from precast.boot.network import issues

_WORD = re.compile(r"[^\s:,\]}]+")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.ASCII)
_NAME = re.compile(r"[^\s/\x00:]{1,15}")
MAX_MTU = 65535
MAX_VLAN = 4094
_YES = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}
T = TypeVar("T")


class Document(NamedTuple):
    """A document's value and, if it was parsed from a text, the offset of each key and item. Other values have no positions."""

    name: str
    value: Any
    source: Source | None = None
    offsets: Mapping[Path, int] = {}

    def span(self, path: Path) -> Span | None:
        """Return the span of a path: the key of an entry, or the beginning of an item."""
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
    def label(self) -> str:
        return format_path(self._path) or self._document.name

    def error(self, issue: Issue, /, **values: object) -> PrecastError:
        """Return an error about this value, with its position."""
        return issue.error(self._document.source, self._document.span(self._path), **values)

    def make_error(self, wanted: str, advice: str = "") -> PrecastError:
        advice = advice or f"write {wanted}"
        return self.error(issues.BAD_VALUE, path=self.label, value=_short(self.value), wanted=wanted, advice=advice)

    # Maps and lists

    def entries(self) -> Iterator[tuple[str, "Field"]]:
        """Yield the entries of a map; null counts as an empty map."""
        if self.value is None:
            return
        if not isinstance(self.value, Mapping):
            raise self.make_error("a map")
        for name, value in self.value.items():
            yield str(name), Field(self._document, value, (*self._path, name), self.warnings)

    def items(self) -> "list[Field]":
        """Return the items of a list; null counts as an empty list."""
        if self.value is None:
            return []
        if not isinstance(self.value, list | tuple):
            raise self.make_error("a list", "write it as a list, one item per line, each after a dash")
        below = enumerate(self.value)
        return [Field(self._document, value, (*self._path, number), self.warnings) for number, value in below]

    def get(self, name: str) -> "Field | None":
        """Return an entry of a map; None if it is missing or null."""
        field = dict(self.entries()).get(name)
        return None if field is None or field.value is None else field

    def need(self, name: str) -> "Field":
        field = self.get(name)
        if field is None:
            raise self.error(issues.MISSING_KEY, path=self.label, name=name)
        return field

    def read(self, name: str, kind: "Callable[[Field], T]", default: T) -> T:
        field = self.get(name)
        return default if field is None else kind(field)

    def maybe(self, name: str, kind: "Callable[[Field], T]") -> T | None:
        field = self.get(name)
        return None if field is None else kind(field)

    def list_items(self, name: str) -> "list[Field]":
        """Return the items of the list under a key; empty if it is missing."""
        field = self.get(name)
        return [] if field is None else field.items()

    def words(self, name: str) -> tuple[str, ...]:
        """Return the texts of the list under a key; empty if it is missing."""
        field = self.get(name)
        return () if field is None else field.texts()

    def servers(self, name: str) -> tuple[str, ...]:
        """Return the addresses of the list under a key; empty if it is missing."""
        field = self.get(name)
        return () if field is None else field.ips()

    def check_keys(self, known: set[str] | frozenset[str]) -> None:
        """Warn about every key that is not among `known`."""
        for name, field in self.entries():
            if name not in known:
                near = difflib.get_close_matches(name, sorted(known), n=1)
                guess = f", did you mean {near[0]}?" if near else ""
                names = ", ".join(sorted(known))
                self.warnings.append(
                    field.error(issues.UNKNOWN_KEY, path=self.label, name=name, guess=guess, names=names)
                )

    # Plain values

    def text(self) -> str:
        if isinstance(self.value, bool) or not isinstance(self.value, str | int | float):
            raise self.make_error("text")
        if not str(self.value).isprintable():  # it is written into a line of a file
            raise self.make_error("text on one line", "leave control characters out")
        return str(self.value)

    def texts(self) -> tuple[str, ...]:
        """Return a list of texts; a plain text is split at blanks and commas."""
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
        raise self.make_error("true or false")

    def number(self, least: int = 0, most: int = 2**32 - 1) -> int:
        value = self.value
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.make_error(f"a number from {least} to {most}")
        return value

    def mtu(self) -> int:
        return self.number(1, MAX_MTU)

    def vlan(self) -> int:
        return self.number(0, MAX_VLAN)

    def choice(self, *words: str) -> str:
        if str(self.value) not in words:
            raise self.make_error(f"one of {', '.join(words)}")
        return str(self.value)

    def mac(self) -> str:
        text = str(self.value).lower()
        if len(text) == 12 and ":" not in text:
            text = ":".join(text[at : at + 2] for at in range(0, 12, 2))
        if not _MAC.fullmatch(text):
            advice = "write it as 52:54:00:12:34:56, in quotes: YAML parses some as numbers"
            raise self.make_error("a MAC address", advice)
        return text

    def device_name(self) -> str:
        if not isinstance(self.value, str) or not _NAME.fullmatch(self.value) or self.value in (".", ".."):
            raise self.make_error(
                "the name of a device", "use at most 15 characters, without blanks, slashes and colons"
            )
        return self.value

    # Addresses

    def ip(self) -> str:
        try:
            return str(ipaddress.ip_address(self.text().partition("%")[0]))
        except ValueError:
            raise self.make_error("an IP address", "write 192.0.2.1 or 2001:db8::1") from None

    def ips(self) -> tuple[str, ...]:
        if isinstance(self.value, str):
            parts = self.value.replace(",", " ").split()
            return tuple(Field(self._document, part, self._path, self.warnings).ip() for part in parts)
        return tuple(item.ip() for item in self.items())

    def interface_address(self) -> str:
        """Return an address with its prefix, as 192.0.2.1/24. An address without a prefix is an error, since its network is unknown."""
        text = self.text()
        if "/" not in text:
            raise self.make_error(
                "an address with the length of its prefix", f"write {text}/24, or what the network has"
            )
        try:
            return str(ipaddress.ip_interface(text))
        except ValueError:
            raise self.make_error("an address with the length of its prefix", "write 192.0.2.1/24") from None

    def network(self) -> str:
        """Return a network as CIDR; host bits are cleared, since the kernel would refuse them."""
        try:
            return str(ipaddress.ip_network(self.text(), strict=False))
        except ValueError:
            raise self.make_error("a network", "write 192.0.2.0/24, or default") from None


def _short(value: object) -> str:
    text = repr(value) if not isinstance(value, str) else value or "''"
    return text if len(text) <= 60 else f"{text[:57]}…"
