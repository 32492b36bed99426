"""The network process of a session: real processes and real TLS; frames pass through it, and one that was taken over gets nothing."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from lab.scripted_server import ScriptedServer
from lab.server_process import PRECAST
from precast.agent.connection import session_process
from precast.agent.connection.backoff import EndReason
from precast.agent.connection.session_process import ProcessConnector, SessionProcess
from precast.agent.connection.session_socket import ConnectionEnded
from precast.agent.network.privileges import find_user
from precast.agent.state.status_notes import NetworkNote
from precast.wire import sessions as wire
from precast.wire.sessions import Hello, Welcome

DEADLINE_S = 30.0


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer(tmp_path / "server") as made:
        made.enrol(tmp_path / "node", "web1")
        yield made


def connector(root: Path, notes: list[NetworkNote] | None = None) -> ProcessConnector:
    argv = [sys.executable, PRECAST, "agent", "network", "--root", str(root)]
    return ProcessConnector(argv, dict(os.environ), lambda: True, (notes if notes is not None else []).append)


def hello() -> bytes:
    return wire.encode(Hello([1], "instance", ["try1"], "boot", "0", 0, 1, 0, 0))


async def test_frames_and_pings_pass_through_an_unprivileged_process(server: ScriptedServer, tmp_path: Path) -> None:
    notes: list[NetworkNote] = []
    async with asyncio.timeout(DEADLINE_S):
        connection = await connector(tmp_path / "node", notes).open(server.url)
        line = await server.accept()
        await connection.send(hello())
        await line.greet()
        assert isinstance(wire.decode_from_server(await connection.recv()), Welcome)
        receiving = asyncio.create_task(connection.recv())
        await connection.ping()
        await connection.ping()
        receiving.cancel()
        await connection.close()
        await line.ended()
    if os.geteuid() == 0:
        assert notes == [NetworkNote(find_user("precast-agent")[0], [])]
    else:
        assert any("does not run as root" in lack for lack in notes[0].lacks)


async def test_end_of_the_connection_is_reported_with_the_servers_reason(
    server: ScriptedServer, tmp_path: Path
) -> None:
    async with asyncio.timeout(DEADLINE_S):
        connection = await connector(tmp_path / "node").open(server.url)
        line = await server.accept()
        await connection.send(hello())
        await line.socket.close(wire.CLOSE_REVOKED, "the certificate was revoked")
        with pytest.raises(ConnectionEnded) as ended:
            await connection.recv()
        await connection.close()
    assert (ended.value.reason, ended.value.why) == (EndReason.REVOKED, "the certificate was revoked")


@pytest.mark.parametrize(
    ("url", "reason"), [("https://127.0.0.1:1", EndReason.UNREACHABLE), ("https://no.invalid:1", EndReason.UNREACHABLE)]
)
async def test_server_that_cannot_be_reached_is_reported_as_before(
    server: ScriptedServer, tmp_path: Path, url: str, reason: EndReason
) -> None:
    with pytest.raises(ConnectionEnded) as ended:
        await connector(tmp_path / "node").open(url)
    assert ended.value.reason is reason


async def test_damaged_certificate_is_reported_in_one_line(server: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / "node/var/lib/precast/agent/certificate.pem").write_text("no certificate")
    with pytest.raises(ConnectionEnded, match="AGENT-004") as ended:
        await connector(tmp_path / "node").open(server.url)
    assert ended.value.reason is EndReason.LOCAL
    assert "\n" not in ended.value.why


# A network process that was taken over: a program in its place that sends whatever it likes.


def impostor(code: str) -> ProcessConnector:
    script = f"""
import os, struct, sys, msgspec
def raw(data): os.write(0, struct.pack(">I", len(data)) + data)
def sent(**fields): raw(msgspec.msgpack.encode(fields))
def started(): sent(type="Started", uid=1, lacks=[])
def asked(): os.read(0, 4096)
{code}
os.read(0, 1)
"""
    return ProcessConnector([sys.executable, "-c", script], dict(os.environ), lambda: True, lambda note: None)


@pytest.mark.parametrize(
    "code",
    [
        'raw(b"\\xff" * 100)',
        'os.write(0, struct.pack(">I", 2**31))',
        'sent(type="Opened")',
        'started(); asked(); sent(type="Frame", data=b"x")',
        'started(); asked(); sent(type="Opened", path="/etc/passwd")',
        'started(); asked(); sent(type="Ended", reason="x" * 100, why="", retry_range_s=[0, 0])',
        'started(); asked(); sent(type="Ended", reason="fenced", why="x" * 3000, retry_range_s=[0, 0])',
        'started(); asked(); sent(type="Ended", reason="fenced", why="", retry_range_s=[0, 1e300])',
    ],
)
async def test_message_of_another_shape_or_out_of_place_ends_the_process(code: str) -> None:
    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(ConnectionEnded, match="AGENT-020") as ended:
            await impostor(code).open("https://server")
    assert ended.value.reason is EndReason.LOCAL


async def test_text_of_the_process_cannot_forge_lines_of_the_log() -> None:
    code = 'started(); asked(); sent(type="Ended", reason="failed", why="a\\nERROR b\\x1b[2J", retry_range_s=[0, 0])'
    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(ConnectionEnded) as ended:
            await impostor(code).open("https://server")
    assert "\n" not in ended.value.why
    assert "\x1b" not in ended.value.why


@pytest.mark.parametrize(
    ("code", "use"),
    [
        ('sent(type="Opened"); raw(b"\\x81")', SessionProcess.recv),
        ('sent(type="Opened"); sent(type="Opened")', SessionProcess.recv),
        ('sent(type="Opened"); sent(type="Frame", data=b"x" * (512 * 1024 + 1))', SessionProcess.recv),
        ('sent(type="Opened"); sys.exit()', SessionProcess.recv),
    ],
)
async def test_open_connection_ends_with_the_first_invalid_message(
    code: str, use: Callable[[SessionProcess], object]
) -> None:
    async with asyncio.timeout(DEADLINE_S):
        connection = await impostor(f"started(); asked(); {code}").open("https://server")
        with pytest.raises(ConnectionEnded):
            await connection.recv()
        connection.abort()
        await connection.close()


async def test_process_that_does_not_close_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_process, "CLOSE_S", 0.1)
    stubborn = impostor('started(); asked(); sent(type="Opened")\nwhile True: __import__("time").sleep(60)')
    async with asyncio.timeout(DEADLINE_S):
        connection = await stubborn.open("https://server")
        await connection.close()
    assert connection._process.returncode == -9


async def test_machine_that_is_not_enrolled_starts_no_process(tmp_path: Path) -> None:
    unused = ProcessConnector(["/nonexistent"], {}, lambda: False, lambda note: None)
    with pytest.raises(ConnectionEnded) as ended:
        await unused.open("https://server")
    assert ended.value.reason is EndReason.NOT_ENROLLED
    broken = ProcessConnector(["/nonexistent"], {}, lambda: True, lambda note: None)
    with pytest.raises(ConnectionEnded) as ended:
        await broken.open("https://server")
    assert ended.value.reason is EndReason.LOCAL
