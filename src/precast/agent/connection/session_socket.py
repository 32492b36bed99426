"""The connection of a session, as the session uses it. TLS and the websocket are in the network process; tests have them here."""

from typing import Protocol

from precast.agent.connection.backoff import EndReason


class ConnectionEnded(Exception):
    """A connection has ended, or could not be opened: why, and when to retry if the server said so."""

    def __init__(self, reason: EndReason, why: str, retry_range_s: tuple[float, float] = (0.0, 0.0)) -> None:
        super().__init__(why)
        self.reason = reason
        self.why = why
        self.retry_range_s = retry_range_s


class SessionSocket(Protocol):
    """An open websocket to a server. Every method may raise ConnectionEnded."""

    async def send(self, data: bytes) -> None:
        """Send a frame; waits while the server accepts none."""

    async def recv(self) -> bytes:
        """Receive a frame."""

    async def ping(self) -> None:
        """Send a ping and wait for the answer. Another task must be receiving."""

    async def close(self) -> None:
        """Close the connection; never raises."""

    def abort(self) -> None:
        """End the connection at once."""


class Connector(Protocol):
    """Opens connections as this node."""

    async def open(self, url: str) -> SessionSocket:
        """Open a websocket for a session with a server. Raises ConnectionEnded. Cancelling closes it."""
