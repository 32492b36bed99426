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
    boot_id: str
    machine_id: str  # empty if the machine has none that lasts
    held_at: datetime | None  # since when the node is on hold, because several machines use its certificate


class MachineView(msgspec.Struct, frozen=True):
    """A machine that uses a node's certificate and is not the node. `state` is on hold or refused."""

    machine: str  # its name, for choosing it
    state: str
    machine_id: str
    boot_id: str
    address: str
    agent: str
    first_at: datetime
    last_at: datetime


class NodeMachines(msgspec.Struct, frozen=True):
    """The machines that use a node's certificate and are not the node; all of them, while the node is on hold."""

    node: str
    held_at: datetime | None
    machines: list[MachineView]


class MachineChoice(msgspec.Struct, frozen=True):
    """Chooses the machine that is the node."""

    machine: str
    why: str = ""


class ServerRow(msgspec.Struct, frozen=True):
    """A server process as lists show it: `HOST:PORT`, or `HOST [ROLES]` for one that nodes cannot connect to."""

    id: str
    name: str
    started_at: datetime
    lease_until: datetime
    connections: int
    has_port: bool = True
