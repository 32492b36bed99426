"""Reads the address of a git repository: the one place that decides what an address means, before git does.

git gives meaning to more than addresses: an option, a transport that runs a command (`ext::`), a path that climbs. None of that is an
address here. Whether an address may be fetched from is decided by a policy, not by its form.
"""

import re
from typing import Final, Literal, NamedTuple

MAX_CHARS: Final = 1000
DEFAULT_PORTS: Final = {"https": 443, "http": 80, "ssh": 22, "git": 9418}

Scheme = Literal["https", "http", "ssh", "git", "file"]
# git decodes the whole of such a URL before it looks for the host, so that a user's name could contain another host.
_DECODED: Final = ("ssh", "git")
_HOST: Final = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\]"
_USER: Final = r"[A-Za-z0-9_~.+%](?:[A-Za-z0-9_~.+%-]{0,99})"
_URL: Final = re.compile(
    rf"(?P<scheme>https|http|ssh|git)://(?:(?P<user>{_USER})(?::[^\s@/:\\]{{0,200}})?@)?(?P<host>{_HOST})"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<path>/[^\s?#\\]*)"
)
_SCP: Final = re.compile(rf"(?:(?P<user>{_USER})@)?(?P<host>{_HOST}):(?P<path>[^\s?#\\:-][^\s?#\\]*)")
_FILE: Final = re.compile(r"file://(?P<path>/[^\s?#\\%]*)")
_LOCAL: Final = re.compile(r"(?:/|\.{1,2}/|~/|[A-Za-z0-9_.])[^\s:\\]*")


class RepositoryAddress(NamedTuple):
    """An address that git can fetch from. A path of this machine has the scheme `file` and no host."""

    text: str
    scheme: Scheme
    host: str
    port: int
    path: str

    @property
    def is_local(self) -> bool:
        return self.scheme == "file"


def parse_address(text: str) -> RepositoryAddress:
    """Parse an address: a URL, USER@HOST:PATH, or a path. Raises ValueError with the reason."""
    if len(text) > MAX_CHARS:
        raise ValueError(f"it is longer than {MAX_CHARS} characters")
    if not text.isprintable() or text.startswith("-"):
        raise ValueError("it is not an address")
    if (match := _FILE.fullmatch(text)) is not None:
        return RepositoryAddress(text, "file", "", 0, _plain_path(match["path"]))
    if (match := _URL.fullmatch(text)) is not None:
        scheme: Scheme = match["scheme"]  # type: ignore[assignment] # the expression allows no other
        port = int(match["port"] or DEFAULT_PORTS[scheme])
        if not 0 < port < 65536:
            raise ValueError(f"{port} is not a port")
        if scheme in _DECODED and "%" in text:
            raise ValueError("it contains %")
        return RepositoryAddress(text, scheme, match["host"].strip("[]").lower(), port, _plain_path(match["path"]))
    if "://" in text:
        raise ValueError("it is not a URL of https, http, ssh, git or file")
    if (match := _SCP.fullmatch(text)) is not None:
        host = match["host"].strip("[]").lower()
        return RepositoryAddress(text, "ssh", host, DEFAULT_PORTS["ssh"], _plain_path(match["path"]))
    if (match := _LOCAL.fullmatch(text)) is not None:
        return RepositoryAddress(text, "file", "", 0, text)
    raise ValueError("it is neither a URL nor USER@HOST:PATH nor a path")


def redact_address(text: str) -> str:
    """Remove a user name and password from an address."""
    return re.sub(r"//[^/@\s]*@", "//", text)


def _plain_path(path: str) -> str:
    if ".." in path.split("/"):
        raise ValueError("its path contains ..")
    return path
