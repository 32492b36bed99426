"""The batch of connections: at once while few send, gathered while many do."""

import asyncio
from typing import Any

from precast.api.sessions import store_batch as subject
from precast.api.sessions.store_batch import StoreBatch


class Connection:
    """Counts how often it is stored."""

    def __init__(self) -> None:
        self.stored = 0

    def store(self) -> None:
        self.stored += 1


class Loop:
    """An event loop of which a test runs the timers itself."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.calls: list[tuple[float, Any]] = []

    def time(self) -> float:
        return self.now_s

    def call_soon(self, call: Any) -> None:
        self.calls.append((self.now_s, call))

    def call_at(self, at_s: float, call: Any) -> None:
        self.calls.append((at_s, call))

    def run_next(self) -> float:
        """Run the next call. Returns how long it has waited."""
        at_s, call = self.calls.pop(0)
        waited_s, self.now_s = at_s - self.now_s, at_s
        call()
        return waited_s


def test_connections_are_stored_in_the_next_turn_and_gathered_after_many(monkeypatch: Any) -> None:
    loop, batch = Loop(), StoreBatch()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
    connections = [Connection() for _ in range(subject.MANY)]
    for connection in connections:
        batch.add(connection)
    assert len(loop.calls) == 1
    assert loop.run_next() == 0
    assert [connection.stored for connection in connections] == [1] * subject.MANY
    batch.add(connections[0])
    assert round(loop.run_next(), 6) == subject.GATHER_S
    # Few have sent: the next one waits for nothing.
    batch.add(connections[0])
    assert loop.run_next() == 0
    assert connections[0].stored == 3
