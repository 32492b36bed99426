"""The metadata services of the benchmark, on a link-local address in a network namespace: one valid service, and four invalid ones.

A fifth source is refused, because nothing listens on its port. The services run in a separate process, whose CPU time is not measured.
"""

import asyncio
import contextlib
import functools
import sys

ADDRESS = "169.254.169.254"
SILENT, SLOW, WRONG, REDIRECT, RIGHT, REFUSED = 8001, 8002, 8003, 8004, 8005, 8006
SLOW_S = 3.0
DELAY_S = 0.05  # the delay of each answer of the valid service
FILES = {
    "/meta-data": b"instance-id: i-bench\nlocal-hostname: bench\n",
    "/user-data": b"#cloud-config\nhostname: bench\n",
    "/vendor-data": b"",
    "/latest/meta-data/instance-id": b"i-bench",
    "/latest/meta-data/local-hostname": b"bench",
    "/latest/user-data": b"#cloud-config\nhostname: bench\n",
}


def _answer(status: int, body: bytes, more: str = "") -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n".encode() + body


async def _serve(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        head = await reader.readuntil(b"\r\n\r\n")
        target = head.split(b" ")[1].decode()
        if port == SILENT:
            await asyncio.sleep(3600)
        elif port == SLOW:
            await asyncio.sleep(SLOW_S)
            writer.write(_answer(404, b""))
        elif port == WRONG:
            writer.write(_answer(200, b"<html>Please log in</html>"))
        elif port == REDIRECT:
            writer.write(_answer(302, b"", f"Location: http://{ADDRESS}:{SILENT}/\r\n"))
        else:
            await asyncio.sleep(DELAY_S)
            content = FILES.get(target)
            writer.write(_answer(404, b"") if content is None else _answer(200, content))
        await writer.drain()
    writer.close()


async def main() -> None:
    for port in (SILENT, SLOW, WRONG, REDIRECT, RIGHT):
        await asyncio.start_server(functools.partial(_serve, port), ADDRESS, port)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)  # until the parent process ends


if __name__ == "__main__":
    asyncio.run(main())
