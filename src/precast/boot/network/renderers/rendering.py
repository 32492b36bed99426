"""The output of a renderer: whole files with their paths, for one network tool."""

from collections.abc import Callable
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.boot.network.model import Device, Network

HEADER = "# Written by `precast boot` from the network configuration of this instance, and again for the next one.\n"
PUBLIC, PRIVATE = 0o644, 0o600


class RenderedFile(NamedTuple):
    """A file to write: its path below the root, without a leading slash."""

    path: str
    text: str
    mode: int = PUBLIC


class Rendering(NamedTuple):
    """All files for a network, and warnings about settings that they cannot express."""

    files: list[RenderedFile]
    warnings: list[PrecastError]


Render = Callable[[Network], Rendering]


def make_file_name(device: Device) -> str:
    """Return a device's id as a part of a file name."""
    return "".join(char if char.isalnum() or char in "-_." else "_" for char in device.id)


def format_sections(parts: list[tuple[str, list[tuple[str, object]]]]) -> str:
    """Return an INI text with repeatable keys, as systemd and NetworkManager read it; empty sections are left out."""
    texts = []
    for name, rows in parts:
        lines = [f"{key}={format_value(value)}\n" for key, value in rows if value is not None]
        if lines:
            texts.append(f"[{name}]\n" + "".join(lines))
    return HEADER + "\n" + "\n".join(texts)


def format_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
