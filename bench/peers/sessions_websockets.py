"""A server of sessions with the `websockets` library and the standard library's event loop, for comparison: it welcomes and waits.

python bench/peers/sessions_websockets.py CERTIFICATE KEY AUTHORITY
"""

import asyncio
import ssl
import sys

from websockets.asyncio.server import ServerConnection, serve

from precast.wire import sessions as session
from precast.wire.sessions import Welcome


async def wait(socket: ServerConnection) -> None:
    session.decode_from_node(await socket.recv())
    await socket.send(session.encode(Welcome(1, 1, "peer", 0, 30.0, 86400.0, 900.0)))
    await socket.wait_closed()


async def main(certificate: str, key: str, authority: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(authority)
    async with serve(wait, "127.0.0.1", 0, ssl=context, compression=None, ping_interval=None, backlog=4096) as server:
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
