"""Asks the server: where it is, whom to trust and who we are come from flags, PRECAST_* or ~/.config/precast/client.toml."""

import argparse
import os
import sys
import tomllib
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from precast.base import https
from precast.cli import issues
from precast.wire.tokens import parse_person

T = TypeVar("T")

NAMES = ("url", "ca", "token")


class Client:
    """The API as a person with a token uses it."""

    def __init__(self, url: str, authority_pem: str, token: str) -> None:
        self._url = url
        self._context = https.trusting(authority_pem)
        self._token = token

    def ask(
        self,
        method: str,
        path: str,
        answer: type[T],
        body: msgspec.Struct | None = None,
        query: dict[str, str] | None = None,
    ) -> T:
        """Call a route; what goes into its path is quoted by `segment`. Raises the server's error as it was, with its code and hint."""
        target = path + (f"?{urlencode(query)}" if query else "")
        data = b"" if body is None else msgspec.json.encode(body)
        came = https.call(
            self._url, self._context, method, target, data, headers={"Authorization": f"Bearer {self._token}"}
        )
        return https.read_answer(self._url, came, answer)

    def pages(self, path: str, row: type[T], key: str, parameter: str = "after", most: int = sys.maxsize) -> list[T]:
        """The rows of a list that comes in pages, each from the last one's key on; `most` of them, or all."""
        rows: list[T] = []
        query: dict[str, str] = {}
        while len(rows) < most and (page := self.ask("GET", path, list[row], query=query)):  # type: ignore[valid-type] # a type that was passed in
            rows += page
            query = {parameter: str(getattr(page[-1], key))}
        return rows[:most]


def segment(text: str) -> str:
    """A text as one part of a path, whatever is in it."""
    return quote(text, safe="")


def add_connection(parser: argparse.ArgumentParser) -> None:
    """The flags that every command of the API has."""
    parser.add_argument("--url", metavar="URL", help="the server (default: $PRECAST_URL, then client.toml)")
    parser.add_argument(
        "--ca", metavar="FILE", help="the authority's certificate (default: $PRECAST_CA, then client.toml)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def connect(args: argparse.Namespace) -> Client:
    """A client by flags, environment and file, in this order.

    Raises InputError CLI-020 if something is missing, WIRE-002 if the token is none.
    """
    file = _read_file()
    found: dict[str, str] = {}
    for name in NAMES:
        value = getattr(args, name, None) or os.environ.get(f"PRECAST_{name.upper()}") or file.get(name)
        if not value:
            raise issues.NO_SETTING.error(name=name, variable=f"PRECAST_{name.upper()}")
        found[name] = str(value)
    try:
        authority = Path(found["ca"]).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not PEM"
        raise issues.NO_AUTHORITY_FILE.error(path=found["ca"], reason=reason) from error
    try:
        return Client(found["url"], authority, str(parse_person(found["token"])))
    except (ValueError, OSError) as error:
        raise issues.NO_AUTHORITY_FILE.error(path=found["ca"], reason="it holds no certificate") from error


def _read_file() -> dict[str, Any]:
    path = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "precast" / "client.toml"
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise issues.OPEN_FILE.error(path=path)
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise issues.BAD_FILE.error(path=path, reason=reason) from error
