"""HTTPS requests: addresses, and the errors when the server does not answer."""

import contextlib
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base import https
from precast.base.errors import InputError, UnavailableError


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://h", ("h", 8140)),
        ("https://h/", ("h", 8140)),
        ("https://h:1", ("h", 1)),
        ("https://[::1]:2", ("::1", 2)),
    ],
)
def test_address_of_a_server_is_split(url: str, place: tuple[str, int]) -> None:
    assert https.split_url(url) == place


@pytest.mark.parametrize(
    "url",
    ["", "h", "http://h", "https://", "https://h/x", "https://h?x", "https://h#x", "https://h:x", "https://h:99999",
     "https://user:pass@h", "https://[::1"],
)  # fmt: skip
def test_address_of_something_else_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InputError) as caught:
        https.split_url(url)
    assert caught.value.code == "HTTP-001"
    assert "pass" not in caught.value.render()


@given(st.text())
def test_any_address_is_split_or_refused(text: str) -> None:
    for url in (text, f"https://{text}"):
        with contextlib.suppress(InputError):
            host, port = https.split_url(url)
            assert host
            assert 0 < port < 65536


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "a..b", "127.0.0.1"])
def test_server_that_cannot_be_reached_is_unavailable(host: str) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"https://{host}:{bound.getsockname()[1]}"
        with pytest.raises(UnavailableError) as caught:
            https.call(url, https.trust_any(), "GET", "/")
    assert caught.value.code == "HTTP-002"
