"""Nodes are evened out between servers that they can connect to, and no others; what is sent to them has a deadline."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from precast.api.sessions.hub import HubSettings
from precast.api.sessions.tending import Tending
from precast.base.clock import ManualClock
from precast.services.sessions.server_presence import quiet_name
from precast.store.sessions.sessions import Server

HERE = 100


class Connection:
    """One that notes that it was sent away."""

    def __init__(self) -> None:
        self.words: list[str] = []

    async def send(self, words: Any) -> None:
        self.words.append(words.why)

    async def close(self, code: int, why: str) -> None:
        self.words.append(why)


@pytest.mark.parametrize(("other", "moved"), [("other:8140", 50), (quiet_name(["compiler"]), 0)])
async def test_nodes_are_sent_to_a_server_with_fewer_if_it_serves_nodes(
    clock: ManualClock, other: str, moved: int
) -> None:
    until = clock.now() + timedelta(seconds=15)
    living = [Server("a", "here:8140", clock.now(), until, HERE), Server("b", other, clock.now(), until, 0)]

    class Sessions:
        async def servers(self) -> list[Server]:
            return living

    connections = {f"node{number}": Connection() for number in range(HERE)}
    hub: Any = SimpleNamespace(connections=connections)
    database: Any = SimpleNamespace(clock=clock)
    nothing = cast(Any, None)
    tending = Tending(hub, nothing, cast(Any, Sessions()), nothing, database, HubSettings(), nothing)
    await tending._rebalance()
    assert sum(bool(one.words) for one in connections.values()) == moved
