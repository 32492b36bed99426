"""Bodies of the API about the connections of nodes."""

from datetime import datetime

import msgspec


class SessionView(msgspec.Struct, frozen=True):
    """Whether a node is connected: to a server, or not since `away_since`. The server knows this from the session, not from the node."""

    node: str
    server: str | None
    away_since: datetime | None
    connected_at: datetime
    epoch: int
    address: str
    agent: str
    lost: int  # records that were never received, or were unusable
    clone_at: datetime | None  # when another machine connected with this identity
    clone_address: str | None


class ServerRow(msgspec.Struct, frozen=True):
    """A server process as lists show it: `HOST:PORT`, or `HOST [ROLES]` for one that nodes cannot connect to."""

    id: str
    name: str
    started_at: datetime
    lease_until: datetime
    connections: int
    has_port: bool = True
