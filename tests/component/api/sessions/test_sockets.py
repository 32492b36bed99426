"""Direct delivery over a real socket: messages that the consumer leaves, and all behind them, are queued in order."""

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
    """A client whose server runs `talk`; an error of the server is raised here."""
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


async def receive(socket: SessionSocket) -> aiohttp.WSMessage:
    socket.queue.open()
    return await socket.receive()


async def test_message_is_delivered_directly_and_no_task_is_woken() -> None:
    consumed: list[bytes] = []

    def consume(data: bytes) -> bool:
        consumed.append(data)
        return True

    async def talk(socket: SessionSocket) -> None:
        socket.queue.consumer = consume
        socket.queue.open()
        frame = await socket.receive()
        assert frame.type is WSMsgType.PING

    async with talking(talk) as client:
        for size in (0, 5, 70_000):
            await client.send_bytes(b"x" * size)
        await client.ping()
    assert list(map(len, consumed)) == [0, 5, 70_000]


async def test_message_that_is_left_and_all_behind_it_are_queued_in_order() -> None:
    consumed: list[bytes] = []
    received: list[object] = []
    all_sent = asyncio.Event()

    def consume(data: bytes) -> bool:
        consumed.append(data)
        return data != b"leave this"

    async def talk(socket: SessionSocket) -> None:
        socket.queue.consumer = consume
        socket.queue.open()
        await all_sent.wait()
        while (frame := await receive(socket)).data != "end":
            received.append(frame.data)
        assert (consumed, received) == ([b"first", b"leave this"], [b"leave this", b"behind", b"ping"])
        await receive(socket)

    async with talking(talk) as client:
        await client.send_bytes(b"first")
        await client.send_bytes(b"leave this")
        await client.send_bytes(b"behind")
        await client.ping(b"ping")
        await client.send_str("end")
        await asyncio.sleep(0.1)
        all_sent.set()
        while len(received) < 3:
            await asyncio.sleep(0.001)
        await client.send_bytes(b"and on")
        await client.close()
    assert consumed[2:] == [b"and on"]


async def test_buffered_messages_do_not_overtake_queued_ones() -> None:
    """Beyond a limit the reader stops. It resumes while a queued message is being delivered: later messages stay behind that one."""
    offered: list[bytes] = []
    received: list[bytes] = []
    all_sent = asyncio.Event()
    messages = [b"a" * 90_000, b"b" * 90_000, b"c", b"d"]

    def consume(data: bytes) -> bool:
        offered.append(data)
        return len(data) == 1

    async def talk(socket: SessionSocket) -> None:
        socket.queue.consumer = consume
        socket.queue.open()
        await all_sent.wait()
        while len(received) < len(messages):
            received.append((await receive(socket)).data)

    async with talking(talk) as client:
        for message in messages:
            await client.send_bytes(message)
        await asyncio.sleep(0.1)
        all_sent.set()
    assert (offered, received) == (messages[:1], messages)


async def test_messages_without_a_consumer_are_queued() -> None:
    received: list[bytes] = []

    async def talk(socket: SessionSocket) -> None:
        for _ in range(20):
            received.append((await socket.receive()).data)
            await asyncio.sleep(0.001)

    async with talking(talk) as client:
        for index in range(20):
            await client.send_bytes(bytes([index]) * 30_000)
    assert received == [bytes([index]) * 30_000 for index in range(20)]


async def test_message_that_is_too_large_ends_the_connection() -> None:
    async def talk(socket: SessionSocket) -> None:
        socket.queue.consumer = lambda data: True
        assert (await receive(socket)).type is WSMsgType.ERROR

    async with talking(talk) as client:
        await client.send_bytes(b"x" * MAX_BYTES)
