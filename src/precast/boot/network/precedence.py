"""The precedence of network configurations: candidates from the one closest to the machine to the fallback, DHCP on the first device.

An invalid candidate must not leave a machine without a network, because then nobody could repair it: the next candidate is used, and
the report states which candidate was refused and why.
"""

import base64
import binascii
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from precast.boot.network import initramfs, issues
from precast.boot.network.devices import links
from precast.boot.network.model import Network
from precast.boot.network.readers import documents

_WORD = "network-config="
DISABLED = "disabled"
MAX_BYTES = 1024 * 1024


class NetworkCandidate(NamedTuple):
    """A configuration's origin, and the function that reads it; without `read` it asks to leave the network unmanaged."""

    origin: str
    read: Callable[[], Network] | None


class NetworkInputs(NamedTuple):
    """The places that may configure the network: the root's files, the kernel's command line, the image, the data source."""

    root: Path
    command_line: str
    image: Any
    source: Any
    is_source_first: bool = False  # on Oracle's cloud, where the initramfs configures only the first device


def list_candidates(said: NetworkInputs) -> Iterator[NetworkCandidate]:
    """Yield the candidates by precedence. The last is the fallback, if there is a device for it."""
    given = [word.removeprefix(_WORD) for word in said.command_line.split() if word.startswith(_WORD)]
    if given:
        origin = "the kernel's command line"
        if given[-1] == DISABLED:
            yield NetworkCandidate(f"{origin} says network-config=disabled", None)
        yield NetworkCandidate(origin, lambda: documents.read_text(origin, decode_argument(given[-1])))
    source = _make_candidate("the data source", said.source)
    if said.is_source_first:
        yield from source
    there = links.list_links(said.root)
    if initramfs.has_configured(said.root, said.command_line):
        yield NetworkCandidate("the initramfs", lambda: _read_initramfs(said.root, there))
    # User data is not a candidate: its author does not know the devices.
    yield from _make_candidate("the image's configuration", said.image)
    if not said.is_source_first:
        yield from source
    yield from _make_candidate("DHCP on the first device with a carrier", links.make_fallback(there))


def _make_candidate(origin: str, given: Any) -> list[NetworkCandidate]:
    if not given:
        return []
    inner = given.get("network", given) if isinstance(given, Mapping) else given
    if isinstance(inner, Mapping) and inner.get("config") == DISABLED:
        return [NetworkCandidate(f"{origin} says network: {{config: disabled}}", None)]
    return [NetworkCandidate(origin, lambda: documents.read_value(origin, given))]


def _read_initramfs(root: Path, there: list[links.Link]) -> Network:
    return documents.read_value("the initramfs", initramfs.read_document(root, {link.name: link.mac for link in there}))


def decode_argument(word: str) -> str:
    """Decode a command line argument: base64, possibly compressed. Raises InputError BOOTNET-001."""
    try:
        data = base64.b64decode(word, validate=True)
        if data.startswith(b"\x1f\x8b"):
            data = zlib.decompressobj(wbits=31).decompress(data, MAX_BYTES)
        return data.decode()
    except (binascii.Error, UnicodeDecodeError, zlib.error):
        raise issues.BAD_VALUE.error(
            path="network-config",
            value=word[:20],
            wanted="base64 of a network configuration",
            advice="encode the file with `base64 -w0 FILE`",
        ) from None
