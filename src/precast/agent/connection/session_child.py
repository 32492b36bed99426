"""The network process of a session: opens one websocket as this node, and passes frames between it and root until it ends.

It is a program of its own, started by the daemon as root: it loads the node's key, then drops all privileges, and only then connects.
It parses TLS, HTTP and the websocket; what is in a frame is root's business.
"""

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Awaitable, Callable

from precast.agent.connection.backoff import EndReason
from precast.agent.connection.session_messages import (
    FROM_ROOT,
    Close,
    Ended,
    Frame,
    FromNetwork,
    Open,
    Opened,
    Ping,
    Pong,
)
from precast.agent.connection.session_socket import ConnectionEnded, SessionSocket
from precast.agent.connection.websocket_client import DirectConnector
from precast.agent.network.frames import encode_frame, read_frame
from precast.agent.network.privileges import drop_privileges
from precast.base.errors import PrecastError

FIRST_DESCRIPTOR = 3

# Sends a message to root.
Tell = Callable[[FromNetwork], Awaitable[None]]


def serve_session(peer: socket.socket, context: ssl.SSLContext, user: str) -> None:
    """Drop all privileges, then serve one session for root. Returns when it has ended. Raises OSError, LookupError."""
    with asyncio.Runner() as runner:
        runner.get_loop()  # it needs descriptors that cannot be made later
        started = drop_privileges(user, [peer.fileno(), *_open_descriptors()], has_threads=True)
        runner.run(_serve(peer, context, started))


def refuse_session(peer: socket.socket, error: PrecastError) -> None:
    """Tell root why this process cannot connect."""
    ended = Ended(EndReason.LOCAL.value, f"{error.message} [{error.code}]; {error.hint}"[:2000], (0.0, 0.0))
    with contextlib.suppress(OSError):
        peer.sendall(encode_frame(ended))


def _open_descriptors() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd") if int(name) >= FIRST_DESCRIPTOR]  # noqa: PTH208 - names only


async def _serve(peer: socket.socket, context: ssl.SSLContext, started: FromNetwork) -> None:
    peer.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=peer)

    async def tell(message: FromNetwork) -> None:
        writer.write(encode_frame(message))
        await writer.drain()

    with contextlib.suppress(EOFError, OSError):
        await tell(started)
        opened = await read_frame(reader, FROM_ROOT)
        if isinstance(opened, Open):
            await tell(await _pass_on(opened.url, DirectConnector(lambda: context), reader, tell))
    writer.close()


async def _pass_on(url: str, connector: DirectConnector, reader: asyncio.StreamReader, tell: Tell) -> Ended:
    """Open the websocket and pass frames on until it ends, and return how it did. Raises EOFError if root has ended."""
    try:
        websocket = await connector.open(url)
    except ConnectionEnded as ended:
        return _describe(ended)
    await tell(Opened())
    parts = [
        asyncio.create_task(_pass_from_server(websocket, tell)),
        asyncio.create_task(_pass_from_root(websocket, reader, tell)),
    ]
    try:
        done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        for part in done:
            part.result()
        return Ended(EndReason.OURS.value, "this agent has closed the connection", (0.0, 0.0))
    except ConnectionEnded as ended:
        return _describe(ended)
    finally:
        for part in parts:
            part.cancel()
        await asyncio.wait(parts)
        await websocket.close()


async def _pass_from_server(websocket: SessionSocket, tell: Tell) -> None:
    while True:
        await tell(Frame(await websocket.recv()))


async def _pass_from_root(websocket: SessionSocket, reader: asyncio.StreamReader, tell: Tell) -> None:
    pings: set[asyncio.Task[None]] = set()
    try:
        while not isinstance(message := await read_frame(reader, FROM_ROOT), Close):
            if isinstance(message, Frame):
                await websocket.send(message.data)
            elif isinstance(message, Ping) and not pings:
                # Its answer may take long, and frames are sent meanwhile.
                ping = asyncio.create_task(_ping(websocket, tell))
                pings.add(ping)
                ping.add_done_callback(pings.discard)
    finally:
        for ping in pings:
            ping.cancel()


async def _ping(websocket: SessionSocket, tell: Tell) -> None:
    with contextlib.suppress(ConnectionEnded):  # the task that receives reports it
        await websocket.ping()
        await tell(Pong())


def _describe(ended: ConnectionEnded) -> Ended:
    return Ended(ended.reason.value, ended.why[:2000], ended.retry_range_s)
