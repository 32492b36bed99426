"""A flood of strangers: connections that stay silent, break off, send garbage, fetch public pages, or guess tokens.

    python -m lab.flood HOST PORT AUTHORITY SOURCE…

Each source is an address of this machine from which some connections of every kind come, all at the same time and again as soon as the
server has closed them. At the end of its input the process prints one JSON object: what became of the attempts of each kind.
"""

import asyncio
import contextlib
import json
import os
import random
import secrets
import socket
import ssl
import sys
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from precast.base import https
from precast.base.digests import Digest
from precast.wire.identity.tokens import EnrolmentSecret, PersonSecret

# Connections of each kind that one source has at the same time.
EACH = {"silent": 40, "half": 20, "garbage": 2, "idle": 20, "public": 6, "enrol": 3, "guess": 3}
PUBLIC = ("/", "/v1/reference", "/v1/openapi.json", "/v1/authority", "/health/ready", "/v1/nothing", "/web/main.js")
# The beginning of a TLS record that never ends.
HALF = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
# After a refusal that came at once.
PAUSE_S = 0.05
PATIENCE_S = 30.0

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Flood:
    """All strangers; `outcomes` counts what became of their attempts, by kind."""

    def __init__(self, host: str, port: int, authority: str) -> None:
        self._place = (host, port)
        self._context = https.trust_authority(authority)
        self._request = make_certificate_request()
        self.outcomes: dict[str, Counter[str]] = {kind: Counter() for kind in EACH}

    async def run(self, kind: str, source: str) -> None:
        """One stranger, again and again."""
        attempt: Callable[[str], Awaitable[str]] = getattr(self, f"_{kind}")
        while True:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    outcome = await attempt(source)
            except TimeoutError:
                outcome = "still open"
            except (OSError, EOFError, ValueError) as error:
                outcome = (
                    "refused" if isinstance(error, (ConnectionError, ssl.SSLError, EOFError)) else type(error).__name__
                )
            self.outcomes[kind][outcome] += 1
            await asyncio.sleep(PAUSE_S)

    async def _silent(self, source: str) -> str:
        return await self._wait_for_end(await self._open(source, None), b"")

    async def _half(self, source: str) -> str:
        return await self._wait_for_end(await self._open(source, None), HALF)

    async def _garbage(self, source: str) -> str:
        return await self._wait_for_end(await self._open(source, None), random.randbytes(500))

    async def _idle(self, source: str) -> str:
        return await self._wait_for_end(await self._open(source, self._context), b"")

    async def _public(self, source: str) -> str:
        requests = [f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() for path in PUBLIC]
        return await self._converse("public", source, [random.choice(requests) for _ in range(100)])

    async def _guess(self, source: str) -> str:
        lines = "GET /v1/nodes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n"
        return await self._converse("guess", source, [lines.format(make_person_token()).encode() for _ in range(100)])

    async def _enrol(self, source: str) -> str:
        body = json.dumps({"request": self._request, "token": make_enrolment_token()}).encode()
        head = (
            "POST /v1/enrolments HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return await self._converse("enrol", source, [head.encode() + body] * 100)

    async def _converse(self, kind: str, source: str, requests: list[bytes]) -> str:
        """Send requests over one connection; each response is counted by its status."""
        reader, writer = await self._open(source, self._context)
        try:
            for request in requests:
                writer.write(request)
                self.outcomes[kind][await _read_status(reader)] += 1
        finally:
            writer.close()
        return "done"

    async def _wait_for_end(self, streams: Streams, data: bytes) -> str:
        reader, writer = streams
        try:
            writer.write(data)
            await reader.read()
            return "closed"
        finally:
            writer.close()

    async def _open(self, source: str, context: ssl.SSLContext | None) -> Streams:
        dialled = socket.socket(socket.AF_INET6 if ":" in source else socket.AF_INET)
        try:
            dialled.setblocking(False)
            dialled.bind((source, 0))
            await asyncio.get_running_loop().sock_connect(dialled, self._place)
        except BaseException:
            dialled.close()
            raise
        name = "127.0.0.1" if context is not None else None
        return await asyncio.open_connection(sock=dialled, ssl=context, server_hostname=name)


async def _read_status(reader: asyncio.StreamReader) -> str:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(int(length.partition(b":")[2]))
    return head.split(b" ", 2)[1].decode()


def make_enrolment_token() -> str:
    """A token of the right form that no server has made."""
    return str(EnrolmentSecret(str(uuid.uuid4()), secrets.token_bytes(32), Digest("0" * 64)))


def make_person_token() -> str:
    return str(PersonSecret(str(uuid.uuid4()), secrets.token_bytes(32)))


def make_certificate_request() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stranger")])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM).decode()


async def _main(host: str, port: int, authority: Path, sources: list[str]) -> None:
    flood = Flood(host, port, authority.read_text())
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(0, lambda: ended.set() if not os.read(0, 1) else None)
    strangers = [
        asyncio.create_task(flood.run(kind, source))
        for source in sources
        for kind, count in EACH.items()
        for _ in range(count)
    ]
    print("flooding", flush=True)
    await ended.wait()
    for stranger in strangers:
        stranger.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.gather(*strangers, return_exceptions=True)
    print(json.dumps(flood.outcomes), flush=True)


if __name__ == "__main__":
    uvloop.run(_main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]))
