"""Reads Azure's provisioning document: ovf-env.xml, in a directory or on the disc that Azure attaches for the first boot.

Only a few plain-text elements are needed, so they are found by pattern: an XML parser, with its known attacks, is never given a document
that may be forged.
"""

import re
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import unescape

from precast.base.errors import PrecastError
from precast.boot.sources import documents
from precast.boot.sources.contract import MachineAccess
from precast.resources.files import safe_paths

NAME = "ovf-env.xml"
DIRECTORIES = ("/var/lib/waagent", "/var/lib/cloud/seed/azure")
DISCS = ("/dev/sr0", "/dev/sr1")
MAX_BYTES = 1024 * 1024
# What replaces the password in a copy that Azure's agent wrote.
REDACTED = "REDACTED"


class Provisioning(NamedTuple):
    """The elements of the document; empty if it does not have them."""

    custom_data: bytes = b""
    hostname: str = ""
    user: str = ""
    password: str = ""
    has_password_login: bool | None = None


async def read(access: MachineAccess, has_disc: bool) -> Provisioning | None:
    """Read the first document that exists. `has_disc`: the firmware names Azure, so its disc may be read.

    Raises InputError BOOT-104, BOOT-105 for an invalid document.
    """
    for place in DIRECTORIES:
        if (data := access.read(f"{place}/{NAME}", MAX_BYTES)) is not None:
            return parse(f"{place}/{NAME}", data)
    for disc in DISCS if has_disc else ():
        if (data := await _read_disc(access, disc)) is not None:
            return parse(f"{NAME} on {disc}", data)
    return None


async def _read_disc(access: MachineAccess, disc: str) -> bytes | None:
    """Read the document on a disc; None for an empty drive or another disc, since the metadata service may have all data."""
    try:
        async with access.mounted(_resolve_device(access.root, disc), "udf") as disk:
            return disk.read(NAME, MAX_BYTES)
    except PrecastError:
        return None


def _resolve_device(root: Path, disc: str) -> Path:
    return Path(safe_paths.resolve("" if root == Path("/") else str(root), disc))


def parse(where: str, data: bytes) -> Provisioning:
    """Parse the document. Raises InputError BOOT-104, BOOT-105."""
    text = documents.read_text(where, data.removeprefix(b"\xef\xbb\xbf"))
    password = _find_element(text, "UserPassword")
    is_disabled = _find_element(text, "DisableSshPasswordAuthentication").lower()
    return Provisioning(
        documents.decode_bytes(f"CustomData in {where}", _find_element(text, "CustomData"), "base64"),
        documents.read_optional_name(f"HostName in {where}", _find_element(text, "HostName")) or "",
        documents.read_optional_name(f"UserName in {where}", _find_element(text, "UserName")) or "",
        "" if password == REDACTED else password,
        None if is_disabled not in ("true", "false") else is_disabled == "false",
    )


def _find_element(text: str, name: str) -> str:
    """Return the text of the first element of a name; empty if there is none or if it has child elements."""
    match = re.search(rf"<(?:\w+:)?{name}(?:\s[^<>]*)?>([^<]*)</(?:\w+:)?{name}>", text)
    return unescape(match[1]).strip() if match else ""
