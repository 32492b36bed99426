"""Limits the downloads of these tests to loopback, whatever address an example contains."""

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
            raise OSError("these tests only connect to loopback")
        return real(url, *words, **options)

    monkeypatch.setattr(downloads, "fetch", fetch)
