"""A real HTTP server on loopback for data sources: it answers by path, or misbehaves as a hostile server would."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

Writer = asyncio.StreamWriter


class HttpRequest:
    """A parsed HTTP request."""

    def __init__(self, head: bytes, body: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = first.split(" ")
        pairs = (line.partition(":") for line in lines if line)
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}
        self.body = body


Handler = Callable[[HttpRequest, Writer], Awaitable[None]]


def answer(status: int, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Service:
    """Answers from a table of paths, and records its requests in `asked`."""

    def __init__(self, files: Mapping[str, str | bytes], **headers: str) -> None:
        self._files = {
            path.strip("/"): data.encode() if isinstance(data, str) else data for path, data in files.items()
        }
        self._headers = headers
        self.asked: list[HttpRequest] = []

    async def __call__(self, request: HttpRequest, writer: Writer) -> None:
        self.asked.append(request)
        content = self._files.get(request.target.strip("/"))
        writer.write(answer(404 if content is None else 200, content or b"", **self._headers))


@contextlib.asynccontextmanager
async def served(handler: Handler, socket: Path | None = None) -> AsyncIterator[str]:
    """Run a server on loopback, or on a socket in the file system, and give its base address."""
    waiting: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: Writer) -> None:
        task = asyncio.current_task()
        assert task is not None
        waiting.add(task)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n"))[:-4]
            length = next(
                (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
            )
            await handler(HttpRequest(head, await reader.readexactly(length)), writer)
            await writer.drain()
        writer.close()
        waiting.discard(task)

    if socket is not None:
        server = await asyncio.start_unix_server(talk, socket)
        base = f"unix://{socket}:"
    else:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield base
    finally:
        server.close()
        for task in list(waiting):
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def silent(_: HttpRequest, writer: Writer) -> None:
    """Listens and never answers."""
    await asyncio.Event().wait()


async def trickling(_: HttpRequest, writer: Writer) -> None:
    """An answer that never ends."""
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b"x" * 65536)
        await writer.drain()
