"""Locations of databases as operators write them: a path, `sqlite:///PATH` or `postgresql://…`. Passwords are never shown."""

import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from precast.store import issues

# The query parameters that may be shown. Any other name may be a misspelt "password".
_SHOWN = {"host", "port", "user", "dbname", "database", "sslmode", "sslrootcert", "target_session_attrs"}
_HOST = re.compile(r"(\[[^]]*\]|[^]:[]*)(:[0-9]*)?")
# psql also accepts this form.
_KEYWORD_PASSWORD = re.compile(r"\bpass(word|file)\s*=", re.IGNORECASE)


class SqliteLocation(NamedTuple):
    """A SQLite file."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


class PostgresLocation(NamedTuple):
    """A database on a PostgreSQL server."""

    url: str

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters after the question mark; the last one of a name counts, as in the driver."""
        return dict(parse_qsl(urlsplit(self.url).query))

    @property
    def hosts(self) -> list[str]:
        """The hosts that the address names: machines, or directories of Unix sockets. None of them means the driver's default."""
        written = urlsplit(self.url).netloc.rpartition("@")[2]
        listed = unquote(written) or self.parameters.get("host", "")
        return [_without_port(host) for host in listed.split(",") if _without_port(host)]

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        user = f"{parts.username}@" if parts.username else ""
        host = parts.netloc.rpartition("@")[2]
        query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name in _SHOWN], safe="/")
        return f"{parts.scheme}://{user}{host}{parts.path}{'?' if query else ''}{query}"

    def __repr__(self) -> str:
        return f"PostgresLocation({str(self)!r})"


def _without_port(host: str) -> str:
    found = _HOST.fullmatch(host)
    return host if found is None else found[1].strip("[]")


Location = SqliteLocation | PostgresLocation


def parse(text: str) -> Location:
    """Parse a location. Raises InputError STORE-001 if the text is not a location."""
    scheme, colon, rest = text.partition(":")
    if scheme in ("postgresql", "postgres") and colon:
        return _parse_server(text)
    path = unquote(rest.removeprefix("//")) if scheme == "sqlite" and colon else text
    is_path = bool(path) and "://" not in path and "\0" not in path and not path.endswith("/")
    if is_path and not _KEYWORD_PASSWORD.search(path):
        return SqliteLocation(Path(path))
    # Only the scheme is repeated: the rest may hold a password.
    if "://" in text:
        raise issues.BAD_LOCATION.error(location=f"{scheme}://…")
    raise issues.BAD_LOCATION.error(location="a text with a password" if _KEYWORD_PASSWORD.search(text) else repr(text))


def _parse_server(text: str) -> PostgresLocation:
    try:
        is_valid = "://" in text and _is_valid(urlsplit(text))
    except ValueError:
        is_valid = False
    if not is_valid:
        raise issues.BAD_LOCATION.error(location="the given postgresql:// address")
    return PostgresLocation(text)


def _is_valid(parts: SplitResult) -> bool:
    """Whether no part belongs to the password: after an unescaped / ? # the rest of a password becomes host, path or query."""
    _, at, hosts = parts.netloc.rpartition("@")
    is_split = bool(parts.fragment) or "@" in parts.path or ("@" in parts.query and not at)
    return not is_split and all(_HOST.fullmatch(host) for host in hosts.split(","))
