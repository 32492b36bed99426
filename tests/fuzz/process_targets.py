"""Fuzz targets between processes: what the signer hears from a server, what root hears from the agent's network process, and addresses."""

import base64
import contextlib

import msgspec

from precast.agent.catalog import release_check
from precast.agent.connection import session_messages
from precast.agent.network import messages
from precast.base.errors import PrecastError
from precast.base.repository_addresses import parse_address, redact_address
from precast.services.identity.signer.messages import Describe, Request
from tests.fuzz.target import FuzzTarget

_REQUESTS = msgspec.msgpack.Decoder(Request)
# What decoding may raise: the listeners refuse these.
_REFUSED = (msgspec.MsgspecError, ValueError, RecursionError)


def check_signer_request(data: bytes) -> None:
    """A request to the signer is refused, or keeps its meaning when it is encoded again."""
    with contextlib.suppress(*_REFUSED):
        request = _REQUESTS.decode(data)
        assert _REQUESTS.decode(msgspec.msgpack.encode(request)) == request


def check_network_message(data: bytes) -> None:
    """A message of the network process is refused, or keeps its meaning when it is encoded again."""
    for decoder in (messages.FROM_NETWORK, session_messages.FROM_NETWORK):
        with contextlib.suppress(*_REFUSED):
            message = decoder.decode(data)
            assert decoder.decode(msgspec.msgpack.encode(message)) == message


def check_release_header(data: bytes) -> None:
    """The header of a release is refused by a declared error, or is a signed document."""
    for value in (data.decode("latin-1"), base64.b64encode(data).decode()):
        with contextlib.suppress(PrecastError):
            assert release_check.decode_header(value).signature is not None


def check_address(data: bytes) -> None:
    """An address is refused with a reason, or is none that a program takes for an option or that leads out of a directory."""
    text = data.decode("utf-8", "replace")
    redact_address(text)
    try:
        address = parse_address(text)
    except ValueError as error:
        reason = str(error)
    else:
        assert not text.startswith("-")
        assert address.is_local or (address.host and not address.host.startswith("-") and 0 < address.port < 65536)
        assert address.is_local or ".." not in address.path.split("/")
        return
    assert reason


TARGETS = {
    "signer": FuzzTarget(
        check_signer_request,
        (msgspec.msgpack.encode(Request(1, Describe())), b"\x82\xa2id\x01\xa4verb\x81\xa4verb\xa8describe"),
        ("precast.services.identity.signer.messages",),
    ),
    "network": FuzzTarget(
        check_network_message,
        tuple(
            msgspec.msgpack.encode(message)
            for message in (
                messages.Started(65534, ["seccomp"]),
                messages.Head(200, {"ETag": "x"}),
                messages.Piece(b"x"),
                messages.End(),
                messages.Failed("denied", "HTTP-002", "it is not there", "try again"),
            )
        ),
        ("precast.agent.network", "precast.agent.connection.session_messages"),
    ),
    "releases": FuzzTarget(
        check_release_header,
        (b'{"release":"{}","signature":"AAAA"}', b'{"pointer":"{}","signature":"AAAA"}'),
        ("precast.agent.catalog.release_check",),
    ),
    "addresses": FuzzTarget(
        check_address,
        (
            b"https://u:p@example.org:8443/a/b.git",
            b"git@example.org:a/b.git",
            b"file:///srv/git/a",
            b"../x",
            b"ssh://[::1]/x",
        ),
        ("precast.base.repository_addresses",),
    ),
}
