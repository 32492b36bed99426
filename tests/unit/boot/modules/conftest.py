"""Modules of these tests reach only loopback, whatever address an example has."""

from typing import Any
from urllib.parse import urlsplit

import pytest

from precast.boot import downloads


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    real = downloads.fetch

    def fetch(url: str, *words: Any, **options: Any) -> bytes:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname != "127.0.0.1":
            raise OSError("only loopback is reached here")
        return real(url, *words, **options)

    monkeypatch.setattr(downloads, "fetch", fetch)
