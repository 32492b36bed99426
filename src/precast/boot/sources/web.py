"""Sends one HTTP request, with asyncio only: no connection pool, no cache, no proxy, no redirects.

A metadata service is an untrusted server at a well-known address. The response is bounded in size, headers included, and one deadline
covers all of it, so a server that sends a byte a second cannot delay a boot. `unix:///run/socket:/path` addresses a local socket.
"""

import asyncio
import contextlib
import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from precast.boot.sources import issues
from precast.boot.sources.contract import HttpAnswer

if TYPE_CHECKING:
    import ssl

MAX_HEAD_BYTES = 64 * 1024
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Address(NamedTuple):
    host: str
    port: int
    target: str
    is_secure: bool
    socket: str = ""


async def ask(
    url: str, method: str, headers: Mapping[str, str], body: bytes, max_bytes: int, context: "ssl.SSLContext | None"
) -> HttpAnswer:
    """Send a request and return the response. The caller sets the deadline; cancelling closes the connection.

    Raises OSError or EOFError without a complete response, InputError BOOT-101, BOOT-102, BOOT-103, BOOT-107.
    """
    address = _parse_url(url)
    reader, writer = await _connect(address, context)
    try:
        writer.write(_build_request(address, method, headers, body))
        await writer.drain()
        status, came = await _read_head(url, reader)
        if 300 <= status < 400 and status != 304:
            raise issues.REDIRECT.error(url=url, target=came.get("location", "nowhere")[:200])
        data = b"" if method == "HEAD" or status in (204, 304) else await _read_body(url, reader, came, max_bytes)
        return HttpAnswer(status, data, came)
    finally:
        writer.close()


def _parse_url(url: str) -> _Address:
    if url.startswith("unix://"):
        socket, _, target = url.removeprefix("unix://").partition(":")
        return _Address("localhost", 0, target or "/", False, socket)
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise issues.BAD_ADDRESS.error(url=url, reason=error) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise issues.BAD_ADDRESS.error(url=url, reason="it is neither http nor https")
    if "@" in parts.netloc or not url.isascii() or not url.isprintable() or " " in url:
        raise issues.BAD_ADDRESS.error(url=url, reason="it contains a user name, a blank or a non-ASCII character")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Address(parts.hostname, port, target, parts.scheme == "https")


async def _look_up(host: str, port: int) -> str:
    """Return the first address of a host name.

    It uses a daemon thread: the event loop's own executor would delay the end of a boot until the resolver gives up.
    """
    loop = asyncio.get_running_loop()
    resolved: asyncio.Future[str] = loop.create_future()

    def tell(act: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing awaits the result
            loop.call_soon_threadsafe(lambda: None if resolved.done() else act())

    def look() -> None:
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            failure = error if isinstance(error, OSError) else OSError(str(error))
            tell(lambda: resolved.set_exception(failure))
        else:
            tell(lambda: resolved.set_result(str(rows[0][4][0])))

    threading.Thread(target=look, name=f"look up {host}", daemon=True).start()
    return await resolved


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _connect(address: _Address, context: "ssl.SSLContext | None") -> _Streams:
    if address.socket:
        return await asyncio.open_unix_connection(address.socket, limit=MAX_HEAD_BYTES)
    if address.is_secure and context is None:
        import ssl

        context = ssl.create_default_context()
    host = address.host if _is_literal(address.host) else await _look_up(address.host, address.port)
    if not address.is_secure:
        return await asyncio.open_connection(host, address.port, limit=MAX_HEAD_BYTES)
    return await asyncio.open_connection(
        host, address.port, ssl=context, server_hostname=address.host, limit=MAX_HEAD_BYTES
    )


def _build_request(address: _Address, method: str, headers: Mapping[str, str], body: bytes) -> bytes:
    host = f"[{address.host}]" if ":" in address.host else address.host
    named = host if address.port in (0, 80, 443) else f"{host}:{address.port}"
    lines = [f"{method} {address.target} HTTP/1.1", f"Host: {named}", "User-Agent: precast-boot", "Connection: close"]
    if body or method in ("POST", "PUT"):
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    assert not any("\r" in line or "\n" in line for line in lines), "a header of ours has a line end"
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


async def _read_head(url: str, reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise issues.TOO_LARGE.error(where=f"the head of {url}", limit=MAX_HEAD_BYTES) from None
    first, *lines = raw.decode("latin-1").split("\r\n")
    words = first.split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/1.") or not (words[1].isdigit() and len(words[1]) == 3):
        raise issues.BAD_HTTP.error(url=url, reason=f"it begins with {first[:40]!r}")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            headers.setdefault(name.strip().lower(), value.strip())
    return int(words[1]), headers


async def _read_body(url: str, reader: asyncio.StreamReader, headers: Mapping[str, str], max_bytes: int) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await _read_chunks(url, reader, max_bytes)
    length = headers.get("content-length")
    if length is None:
        return await _read_until_closed(url, reader, max_bytes)
    if not (length.isascii() and length.isdigit()):
        raise issues.BAD_HTTP.error(url=url, reason=f"its length is {length[:40]!r}")
    if len(length) > 12 or int(length) > max_bytes:
        raise issues.TOO_LARGE.error(where=url, limit=max_bytes)
    return await reader.readexactly(int(length))


async def _read_until_closed(url: str, reader: asyncio.StreamReader, max_bytes: int) -> bytes:
    data = bytearray()
    while piece := await reader.read(64 * 1024):
        data += piece
        if len(data) > max_bytes:
            raise issues.TOO_LARGE.error(where=url, limit=max_bytes)
    return bytes(data)


async def _read_chunks(url: str, reader: asyncio.StreamReader, max_bytes: int) -> bytes:
    data = bytearray()
    while True:
        size = await _read_chunk_size(url, reader)
        if len(data) + size > max_bytes:
            raise issues.TOO_LARGE.error(where=url, limit=max_bytes)
        if size == 0:
            return bytes(data)
        data += await reader.readexactly(size)
        if await reader.readexactly(2) != b"\r\n":
            raise issues.BAD_HTTP.error(url=url, reason="a chunk does not have its declared size")


async def _read_chunk_size(url: str, reader: asyncio.StreamReader) -> int:
    """Read the hexadecimal size of a chunk; extensions after a semicolon are ignored."""
    try:
        digits = (await reader.readuntil(b"\n")).split(b";")[0].strip()
    except asyncio.LimitOverrunError:
        digits = b""
    if not re.fullmatch(rb"[0-9A-Fa-f]{1,16}", digits):
        raise issues.BAD_HTTP.error(url=url, reason="a chunk has no valid size")
    return int(digits, 16)
