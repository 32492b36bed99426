"""The client of the API. The server's address, the authority and the token come from flags, PRECAST_* or ~/.config/precast/client.toml."""

import argparse
import sys
from collections.abc import Iterable
from typing import TypeVar
from urllib.parse import quote, urlencode

import msgspec

from precast.base import https
from precast.base.errors import NotFoundError
from precast.base.home import expand
from precast.cli import issues
from precast.cli.console.settings import ClientSettings, add_settings, load_settings
from precast.wire.identity.tokens import parse_person

T = TypeVar("T")

TIMEOUT_S = 30.0


class Client:
    """Calls the API with a person's token. Every method raises the server's error as it is, with its code and hint."""

    def __init__(self, url: str, authority_pem: str, token: str, timeout_s: float = TIMEOUT_S) -> None:
        self._url = url
        self._context = https.trust_authority(authority_pem)
        self._token = token
        self._timeout_s = timeout_s

    def ask(
        self,
        method: str,
        path: str,
        answer: type[T],
        body: msgspec.Struct | None = None,
        query: dict[str, str] | None = None,
    ) -> T:
        """Call a route. Values in the path must be quoted by `segment`."""
        target = path + (f"?{urlencode(query)}" if query else "")
        data = b"" if body is None else msgspec.json.encode(body)
        response = https.call(
            self._url,
            self._context,
            method,
            target,
            data,
            headers={"Authorization": f"Bearer {self._token}"},
            timeout_s=self._timeout_s,
        )
        return https.read_answer(self._url, response, answer)

    def find(self, method: str, path: str, answer: type[T], query: dict[str, str] | None = None) -> T | None:
        """Call a route; None if the server answers that it does not exist."""
        try:
            return self.ask(method, path, answer, query=query)
        except NotFoundError:
            return None

    def send(self, path: str, answer: type[T], parts: Iterable[bytes], size: int) -> T:
        """Post a body of `size` bytes from an iterator of parts."""
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/octet-stream",
            "Content-Length": str(size),
        }
        response = https.call(self._url, self._context, "POST", path, parts, headers=headers, timeout_s=self._timeout_s)
        return https.read_answer(self._url, response, answer)

    def fetch_content(self, path: str) -> bytes:
        """The bytes that a route answers."""
        headers = {"Authorization": f"Bearer {self._token}"}
        response = https.call(self._url, self._context, "GET", path, headers=headers)
        if response.status >= 400:
            https.read_answer(self._url, response, str)
        return response.body

    def fetch_text(self, path: str) -> str:
        """The text that a route answers."""
        return self.fetch_content(path).decode(errors="replace")

    def list_pages(
        self, path: str, row: type[T], key: str, parameter: str = "after", most: int = sys.maxsize
    ) -> list[T]:
        """The rows of a paged list, at most `most` of them. Each page begins after the `key` of the last row before it."""
        rows: list[T] = []
        query: dict[str, str] = {}
        while len(rows) < most and (page := self.ask("GET", path, list[row], query=query)):  # type: ignore[valid-type] # the type is an argument
            rows += page
            query = {parameter: str(getattr(page[-1], key))}
        return rows[:most]


def segment(text: str) -> str:
    """Quote a text as one segment of a path. Raises InputError CLI-001 if it is empty, which would name another path."""
    if not text:
        raise issues.USAGE.error(problem="a name is empty", usage="write the name that you mean")
    return quote(text, safe="")


def add_connection(parser: argparse.ArgumentParser) -> None:
    """Add the flags of every command that calls the API."""
    add_settings(parser, ClientSettings)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def connect(args: argparse.Namespace, timeout_s: float = TIMEOUT_S) -> Client:
    """Create a client from flags, environment and file, in this order of precedence.

    Raises InputError CLI-020 if a setting is missing, CLI-021 if the authority's file is unusable, WIRE-002 if the token is invalid.
    """
    settings = load_settings(ClientSettings, args).values
    for name in ("url", "ca", "token"):
        if not getattr(settings, name):
            raise issues.NO_SETTING.error(
                name=name, variable=f"PRECAST_{name.upper()}", file="~/.config/precast/client.toml"
            )
    try:
        authority = expand(settings.ca).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not PEM"
        raise issues.NO_AUTHORITY_FILE.error(path=settings.ca, reason=reason) from error
    try:
        return Client(settings.url, authority, str(parse_person(settings.token)), timeout_s)
    except (ValueError, OSError) as error:
        raise issues.NO_AUTHORITY_FILE.error(path=settings.ca, reason="it contains no certificate") from error
