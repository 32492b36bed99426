"""Why a websocket cannot be opened, with real sockets."""

import asyncio
import ssl

import pytest

from precast.agent.connection.backoff import EndReason
from precast.agent.connection.session_socket import ConnectionEnded
from precast.agent.connection.websocket_client import open_socket


@pytest.mark.parametrize("has_reset", [False, True])
async def test_connection_closed_before_the_handshake_is_unreachable(has_reset: bool) -> None:
    """A load balancer accepts connections, and closes them while it has no server to pass them on to."""

    def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if has_reset:
            writer.transport.abort()
        writer.close()

    balancer = await asyncio.start_server(close, "127.0.0.1", 0)
    port = balancer.sockets[0].getsockname()[1]
    with pytest.raises(ConnectionEnded) as raised:
        await open_socket(f"https://127.0.0.1:{port}", ssl.create_default_context())
    balancer.close()
    await balancer.wait_closed()
    assert raised.value.reason is EndReason.UNREACHABLE
    assert raised.value.why == "the connection was closed before the TLS handshake"
