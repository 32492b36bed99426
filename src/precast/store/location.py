"""Where a database is, as people write it: a path, `sqlite:///PATH` or `postgresql://…`. Passwords are never shown."""

from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from precast.store import issues

_SECRET = {"password", "passfile", "sslpassword"}


class SqliteLocation(NamedTuple):
    """A file."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


class PostgresLocation(NamedTuple):
    """A database on a PostgreSQL server."""

    url: str

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        user = f"{parts.username}@" if parts.username else ""
        host = parts.netloc.rpartition("@")[2]
        query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name not in _SECRET], safe="/")
        return urlunsplit((parts.scheme, user + host, parts.path, query, ""))


Location = SqliteLocation | PostgresLocation


def parse(text: str) -> Location:
    """Read a location. Raises InputError STORE-001 for anything else."""
    scheme, colon, rest = text.partition(":")
    if scheme in ("postgresql", "postgres") and rest.startswith("//"):
        try:
            urlsplit(text)
        except ValueError:
            raise issues.BAD_LOCATION.error(location="the given postgresql:// address") from None
        return PostgresLocation(text)
    if scheme == "sqlite" and colon:
        path = unquote(rest.removeprefix("//"))
        if path and not path.endswith("/"):
            return SqliteLocation(Path(path))
    elif text and "://" not in text and "\0" not in text and not text.endswith("/"):
        return SqliteLocation(Path(text))
    # Only the scheme is repeated: the rest may hold a password.
    raise issues.BAD_LOCATION.error(location=f"{scheme}://…" if "://" in text else repr(text))
