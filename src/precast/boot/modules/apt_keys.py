"""Installs the keys of package sources: from the user data, or from a key server by their fingerprint."""

import re
from collections.abc import Mapping
from typing import Any

from precast.boot import downloads
from precast.boot.modules import issues
from precast.boot.modules.context import ModuleContext
from precast.resources.apt import openpgp

_GLOBAL_KEYRINGS = "/etc/apt/trusted.gpg.d"
_SOURCE_KEYRINGS = "/etc/apt/keyrings"
_SERVER = "keyserver.ubuntu.com"
_MAX_BYTES = 1 << 20  # a key with many signatures has some ten thousand bytes
_KEY_ID = re.compile(r"[0-9A-Fa-f]{8}|[0-9A-Fa-f]{16}|[0-9A-Fa-f]{40}")


def install_key(context: ModuleContext, name: str, source: Mapping[str, Any]) -> str | None:
    """Write the key of a source and return its path, or None if the source has no key. Raises UnavailableError if fetching fails."""
    key = source.get("key") or (_fetch_key(context, source) if "keyid" in source else None)
    if not key:
        return None
    is_own = "$KEY_FILE" in source.get("source", "")
    safe_name = "".join(character if character.isalnum() or character in "._-" else "_" for character in name)
    path = f"{_SOURCE_KEYRINGS if is_own else _GLOBAL_KEYRINGS}/precast-boot-{safe_name}.asc"
    context.write(path, f"{key.strip()}\n".encode())
    return path


def _fetch_key(context: ModuleContext, source: Mapping[str, Any]) -> str:
    """Fetch a key from a key server and return only the requested key. Raises UnavailableError BOOT-205."""
    key_id = source["keyid"].replace(" ", "").removeprefix("0x")
    url = f"{_build_base_url(source.get('keyserver', _SERVER))}/pks/lookup?op=get&options=mr&search=0x{key_id}"
    context.record_change(f"fetch the key {key_id} from {url.partition('/pks/')[0]}")
    if context.is_dry_run:
        return "-"
    try:
        if not _KEY_ID.fullmatch(key_id):
            raise ValueError("keyid must be a fingerprint of 40 hexadecimal digits, or its last 8 or 16 digits")
        return openpgp.extract_key(downloads.fetch(url, max_bytes=_MAX_BYTES), key_id)
    except (OSError, ValueError) as error:
        raise issues.NOT_FETCHED.error(url=f"key {key_id} from {url}", reason=error) from None


def _build_base_url(server: str) -> str:
    """Return the HTTP address of a key server; hkp:// without a port means port 11371."""
    scheme, _, rest = server.rpartition("://")
    rest = rest.rstrip("/")
    if scheme in ("", "hkps", "https"):
        return f"https://{rest}"
    has_port = re.search(r":\d+$", rest) is not None
    return f"http://{rest}" if scheme == "http" or has_port else f"http://{rest}:11371"
