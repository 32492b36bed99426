"""The keys of package sources: given in the user data, or asked for by their fingerprint."""

import re
from collections.abc import Mapping
from typing import Any

from precast.boot import downloads
from precast.boot.modules import issues, pgp
from precast.boot.modules.context import Context

_ALL = "/etc/apt/trusted.gpg.d"
_ONE = "/etc/apt/keyrings"
_SERVER = "keyserver.ubuntu.com"
_MAX_BYTES = 1 << 20  # keys that many have signed are some ten thousands
_NUMBER = re.compile(r"[0-9A-Fa-f]{8}|[0-9A-Fa-f]{16}|[0-9A-Fa-f]{40}")


def key_file(context: Context, name: str, given: Mapping[str, Any]) -> str | None:
    """Put the key of a source in place; its path, or None if it has none. Raises UnavailableError if it cannot be got."""
    key = given.get("key") or (_received(context, given) if "keyid" in given else None)
    if not key:
        return None
    is_own = "$KEY_FILE" in given.get("source", "")
    safe = "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in name)
    path = f"{_ONE if is_own else _ALL}/precast-boot-{safe}.asc"
    context.write(path, f"{key.strip()}\n".encode())
    return path


def _received(context: Context, given: Mapping[str, Any]) -> str:
    """Ask a key server, and take the key that was asked for. Raises UnavailableError BOOT-205."""
    number = given["keyid"].replace(" ", "").removeprefix("0x")
    url = f"{_base(given.get('keyserver', _SERVER))}/pks/lookup?op=get&options=mr&search=0x{number}"
    context.changed(f"fetch the key {number} from {url.partition('/pks/')[0]}")
    if context.is_dry_run:
        return "-"
    try:
        if not _NUMBER.fullmatch(number):
            raise ValueError(
                "a key is asked for by its fingerprint: 40 hexadecimal digits, or the last 8 or 16 of them"
            )
        return pgp.only(downloads.fetch(url, max_bytes=_MAX_BYTES), number)
    except (OSError, ValueError) as error:
        raise issues.NOT_FETCHED.error(url=f"key {number} from {url}", reason=error) from None


def _base(server: str) -> str:
    """The address of a key server: its protocol is HTTP, on a port of its own if nothing else is said."""
    scheme, _, rest = server.rpartition("://")
    rest = rest.rstrip("/")
    if scheme in ("", "hkps", "https"):
        return f"https://{rest}"
    has_port = re.search(r":\d+$", rest) is not None
    return f"http://{rest}" if scheme == "http" or has_port else f"http://{rest}:11371"
