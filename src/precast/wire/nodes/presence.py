"""Bodies of the API about where nodes are."""

from datetime import datetime

import msgspec


class SessionView(msgspec.Struct, frozen=True):
    """Where a node is: connected to a server, or away since. Known from the session, not from what the node sends."""

    node: str
    server: str | None
    away_since: datetime | None
    connected_at: datetime
    epoch: int
    address: str
    agent: str
    lost: int  # records that never came, or could not be used
    clone_at: datetime | None  # when another machine came with this identity
    clone_address: str | None


class ServerRow(msgspec.Struct, frozen=True):
    """A server process as lists show it: `HOST:PORT`, or `HOST [ROLES]` for one that nodes cannot connect to."""

    id: str
    name: str
    started_at: datetime
    lease_until: datetime
    connections: int
    has_port: bool = True
