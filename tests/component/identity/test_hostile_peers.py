"""A hostile process at the signer's socket harms nobody else: garbage, huge lengths, silence, unread answers, many connections."""

import asyncio
import os
import socket
from pathlib import Path

import msgspec
import pytest

from precast.base.clock import SystemClock
from precast.base.errors import PrecastError, UnavailableError
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer import listener
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.connection import SocketConnection
from precast.services.identity.signer.frames import encode_frame
from precast.services.identity.signer.listener import MAX_CONNECTIONS, Listener, bind
from precast.services.identity.signer.local import build_signer
from precast.services.identity.signer.messages import Describe, Request
from tests.component.identity.signer_socket import serving

GARBAGE = [
    b"GET / HTTP/1.1\r\n\r\n",
    b"\xff\xff\xff\xff" + b"x" * 100,
    b"\x7f\xff\xff\xff",
    b"\x00\x00\x00\x00",
    b"\x00\x00\x00\x05hello",
    (200).to_bytes(4) + b"\x92" * 200,
    encode_frame(Request(1, Describe())).replace(b"describe", b"sign_any"),
    (len(deep := b"\x91" * 100_000)).to_bytes(4) + deep,
]


@pytest.mark.parametrize("data", GARBAGE, ids=range(len(GARBAGE)))
async def test_garbage_ends_its_own_connection_only(tmp_path: Path, data: bytes) -> None:
    async with serving(tmp_path) as site:
        reader, writer = await asyncio.open_unix_connection(str(site.path))
        writer.write(data)
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()
        assert not await site.client.refresh()


async def test_unknown_fields_and_verbs_are_refused(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        for message in (
            {"number": 1, "verb": {"verb": "describe", "more": 1}},
            {"number": 1, "verb": {"verb": "sign", "data": b"anything"}},
            {"number": 1, "verb": {"verb": "enrol", "request": 5}},
        ):
            data = msgspec.msgpack.encode(message)
            reader, writer = await asyncio.open_unix_connection(str(site.path))
            writer.write(len(data).to_bytes(4) + data)
            async with asyncio.timeout(10):
                assert await reader.read() == b""
            writer.close()


async def test_slow_message_is_ended_and_delays_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "READ_S", 0.2)
    async with serving(tmp_path) as site:
        reader, writer = await asyncio.open_unix_connection(str(site.path))
        writer.write((1000).to_bytes(4) + b"x")
        assert not await site.client.refresh()
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()


async def test_many_connections_of_one_user_are_bounded(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        opened = [await asyncio.open_unix_connection(str(site.path)) for _ in range(MAX_CONNECTIONS + 20)]
        frame = encode_frame(Request(1, Describe()))
        answered = 0
        for reader, writer in opened:
            writer.write(frame)
            async with asyncio.timeout(10):
                answered += bool(await reader.read(1))
        # One connection is the site's own.
        assert answered == MAX_CONNECTIONS - 1
        assert not await site.client.refresh()
        for _, writer in opened:
            writer.close()
        await site.client.refresh()


async def test_peer_that_reads_no_answers_is_disconnected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "MAX_UNREAD_BYTES", 64 * 1024)
    async with serving(tmp_path) as site:
        plug = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        plug.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(plug, str(site.path))
        frame = encode_frame(Request(1, Describe()))
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            await _flood(plug, frame)
        plug.close()
        assert not await site.client.refresh()


async def _flood(plug: socket.socket, frame: bytes) -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(30):
        for _ in range(100_000):
            await loop.sock_sendall(plug, frame)


async def test_user_that_is_not_configured_gets_no_answer(tmp_path: Path) -> None:
    clock = SystemClock()
    files = AuthorityFiles(tmp_path / "authority")
    with files.created(Authority.new(clock.now())):
        pass
    somebody = Listener(build_signer(files, clock), clock, frozenset({os.getuid() + 1}), frozenset())
    running = asyncio.create_task(somebody.run(bind(tmp_path / "s")))
    client = SignerClient(SocketConnection(tmp_path / "s", deadline_s=0.5))
    with pytest.raises(UnavailableError) as caught:
        await client.refresh()
    assert caught.value.code == "CA-030"
    await client.close()
    running.cancel()
    await asyncio.wait([running])


async def test_second_signer_does_not_take_the_socket_of_a_running_one(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        with pytest.raises(PrecastError, match="another signer listens"):
            bind(site.path)
    (tmp_path / "file").write_text("precious")
    with pytest.raises(PrecastError, match="not a socket"):
        bind(tmp_path / "file")
    bind(site.path).close()  # of one that has ended
