"""Asks the server: where it is, whom to trust and who we are come from flags, PRECAST_* or ~/.config/precast/client.toml."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, urlencode

import msgspec

from precast.app.settings import ClientSettings, add_settings, load_settings
from precast.base import https
from precast.base.errors import NotFoundError
from precast.cli import issues
from precast.wire.identity.tokens import parse_person

T = TypeVar("T")

TIMEOUT_S = 30.0


class Client:
    """The API as a person with a token uses it."""

    def __init__(self, url: str, authority_pem: str, token: str, timeout_s: float = TIMEOUT_S) -> None:
        self._url = url
        self._context = https.trusting(authority_pem)
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
        """Call a route; what goes into its path is quoted by `segment`. Raises the server's error as it was, with its code and hint."""
        target = path + (f"?{urlencode(query)}" if query else "")
        data = b"" if body is None else msgspec.json.encode(body)
        came = https.call(
            self._url,
            self._context,
            method,
            target,
            data,
            headers={"Authorization": f"Bearer {self._token}"},
            timeout_s=self._timeout_s,
        )
        return https.read_answer(self._url, came, answer)

    def find(self, method: str, path: str, answer: type[T]) -> T | None:
        """The same; None for what there is not."""
        try:
            return self.ask(method, path, answer)
        except NotFoundError:
            return None

    def send(self, path: str, answer: type[T], parts: Iterable[bytes], size: int) -> T:
        """Post a body of so many bytes as its parts come. Raises the server's error as it was."""
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/octet-stream",
            "Content-Length": str(size),
        }
        came = https.call(self._url, self._context, "POST", path, parts, headers=headers, timeout_s=self._timeout_s)
        return https.read_answer(self._url, came, answer)

    def content(self, path: str) -> bytes:
        """Bytes. Raises the server's error as it was."""
        came = https.call(self._url, self._context, "GET", path, headers={"Authorization": f"Bearer {self._token}"})
        if came.status >= 400:
            https.read_answer(self._url, came, str)
        return came.body

    def text(self, path: str) -> str:
        """What a route that answers with text says. Raises the server's error as it was."""
        return self.content(path).decode(errors="replace")

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
    add_settings(parser, ClientSettings)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def connect(args: argparse.Namespace, timeout_s: float = TIMEOUT_S) -> Client:
    """A client by flags, environment and file, in this order.

    Raises InputError CLI-020 if something is missing, WIRE-002 if the token is none.
    """
    found = load_settings(ClientSettings, args).values
    for name in ("url", "ca", "token"):
        if not getattr(found, name):
            raise issues.NO_SETTING.error(
                name=name, variable=f"PRECAST_{name.upper()}", file="~/.config/precast/client.toml"
            )
    try:
        authority = Path(found.ca).expanduser().read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not PEM"
        raise issues.NO_AUTHORITY_FILE.error(path=found.ca, reason=reason) from error
    try:
        return Client(found.url, authority, str(parse_person(found.token)), timeout_s)
    except (ValueError, OSError) as error:
        raise issues.NO_AUTHORITY_FILE.error(path=found.ca, reason="it holds no certificate") from error
