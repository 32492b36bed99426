"""Messages are handed over as they come, over a real socket; what is left is asked for in its order, and what is behind it too."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import WSMsgType, web

from precast.api.sessions.sockets import SessionSocket

Talk = Callable[[SessionSocket], Awaitable[None]]
MAX_BYTES = 100_000


@asynccontextmanager
async def talking(talk: Talk) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A client whose server talks like this; what goes wrong there goes wrong here."""
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def serve(request: web.BaseRequest) -> web.StreamResponse:
        socket = SessionSocket(autoping=False, compress=False, max_msg_size=MAX_BYTES)
        await socket.prepare(request)
        try:
            await talk(socket)
        except Exception as error:  # noqa: BLE001 - for the test
            ended.set_exception(error)
        else:
            ended.set_result(None)
        return socket

    server = web.ServerRunner(web.Server(serve))
    await server.setup()
    try:
        site = web.TCPSite(server, "127.0.0.1", 0)
        await site.start()
        host, port = server.addresses[0][:2]
        async with aiohttp.ClientSession() as client, client.ws_connect(f"http://{host}:{port}/") as socket:
            async with asyncio.timeout(20):
                yield socket
                await ended
    finally:
        await server.cleanup()


async def hear(socket: SessionSocket) -> aiohttp.WSMessage:
    socket.inlet.open()
    return await socket.receive()


async def test_message_is_taken_when_it_comes_and_no_task_is_woken() -> None:
    taken: list[bytes] = []

    def take(data: bytes) -> bool:
        taken.append(data)
        return True

    async def talk(socket: SessionSocket) -> None:
        socket.inlet.take = take
        socket.inlet.open()
        frame = await socket.receive()
        assert frame.type is WSMsgType.PING

    async with talking(talk) as client:
        for size in (0, 5, 70_000):
            await client.send_bytes(b"x" * size)
        await client.ping()
    assert list(map(len, taken)) == [0, 5, 70_000]


async def test_what_is_left_and_all_behind_it_is_asked_for_in_order() -> None:
    taken: list[bytes] = []
    heard: list[object] = []
    are_there = asyncio.Event()

    def take(data: bytes) -> bool:
        taken.append(data)
        return data != b"leave this"

    async def talk(socket: SessionSocket) -> None:
        socket.inlet.take = take
        socket.inlet.open()
        await are_there.wait()
        while (frame := await hear(socket)).data != "end":
            heard.append(frame.data)
        assert (taken, heard) == ([b"first", b"leave this"], [b"leave this", b"behind", b"ping"])
        await hear(socket)

    async with talking(talk) as client:
        await client.send_bytes(b"first")
        await client.send_bytes(b"leave this")
        await client.send_bytes(b"behind")
        await client.ping(b"ping")
        await client.send_str("end")
        await asyncio.sleep(0.1)
        are_there.set()
        while len(heard) < 3:
            await asyncio.sleep(0.001)
        await client.send_bytes(b"and on")
        await client.close()
    assert taken[2:] == [b"and on"]


async def test_what_was_read_and_not_looked_at_overtakes_nothing() -> None:
    """Beyond a limit the reader stops, and goes on while a message is being given out: what it finds then is behind that one."""
    offered: list[bytes] = []
    heard: list[bytes] = []
    are_there = asyncio.Event()
    messages = [b"a" * 90_000, b"b" * 90_000, b"c", b"d"]

    def take(data: bytes) -> bool:
        offered.append(data)
        return len(data) == 1

    async def talk(socket: SessionSocket) -> None:
        socket.inlet.take = take
        socket.inlet.open()
        await are_there.wait()
        while len(heard) < len(messages):
            heard.append((await hear(socket)).data)

    async with talking(talk) as client:
        for message in messages:
            await client.send_bytes(message)
        await asyncio.sleep(0.1)
        are_there.set()
    assert (offered, heard) == (messages[:1], messages)


async def test_messages_nobody_takes_are_kept_until_they_are_asked_for() -> None:
    heard: list[bytes] = []

    async def talk(socket: SessionSocket) -> None:
        for _ in range(20):
            heard.append((await socket.receive()).data)
            await asyncio.sleep(0.001)

    async with talking(talk) as client:
        for at in range(20):
            await client.send_bytes(bytes([at]) * 30_000)
    assert heard == [bytes([at]) * 30_000 for at in range(20)]


async def test_message_that_is_too_large_ends_it() -> None:
    async def talk(socket: SessionSocket) -> None:
        socket.inlet.take = lambda data: True
        assert (await hear(socket)).type is WSMsgType.ERROR

    async with talking(talk) as client:
        await client.send_bytes(b"x" * MAX_BYTES)
