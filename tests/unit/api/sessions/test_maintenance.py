"""Nodes are rebalanced between servers that they can connect to, and only between these."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from precast.api.sessions.endpoint import SessionSettings
from precast.api.sessions.maintenance import SessionMaintenance
from precast.base.clock import ManualClock
from precast.services.sessions.server_presence import worker_server_name
from precast.store.sessions.sessions import Server

HERE = 100


class Connection:
    """A connection that records the reasons for which it was sent away."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    async def send(self, message: Any) -> None:
        self.reasons.append(message.why)

    async def close(self, code: int, why: str) -> None:
        self.reasons.append(why)


@pytest.mark.parametrize(("other", "moved"), [("other:8140", 50), (worker_server_name(["compiler"]), 0)])
async def test_nodes_are_sent_to_a_server_with_fewer_if_it_serves_nodes(
    clock: ManualClock, other: str, moved: int
) -> None:
    until = clock.now() + timedelta(seconds=15)
    living = [Server("a", "here:8140", clock.now(), until, HERE), Server("b", other, clock.now(), until, 0)]

    class Sessions:
        async def list_servers(self) -> list[Server]:
            return living

    connections = {f"node{number}": Connection() for number in range(HERE)}
    endpoint: Any = SimpleNamespace(connections=connections)
    database: Any = SimpleNamespace(clock=clock)
    nothing = cast(Any, None)
    maintenance = SessionMaintenance(
        endpoint, nothing, cast(Any, Sessions()), nothing, database, SessionSettings(), nothing, nothing
    )
    await maintenance._rebalance()
    assert sum(bool(connection.reasons) for connection in connections.values()) == moved
