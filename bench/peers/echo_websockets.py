"""A bare echo server: the `websockets` library over TLS 1.3 with client certificates.

    python bench/peers/echo_websockets.py CERTIFICATE KEY AUTHORITY

Prints its port, and echoes every message until it is killed.
"""

import asyncio
import ssl
import sys

import uvloop
from websockets.asyncio.server import ServerConnection, serve


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


async def main(certificate: str, key: str, authority: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(authority)
    context.verify_mode = ssl.CERT_REQUIRED
    async with serve(echo, "127.0.0.1", 0, ssl=context, compression=None) as server:
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
