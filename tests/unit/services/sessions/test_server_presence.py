"""A server's lease lasts longer while renewals take long, so that it does not run out between two of them."""

import asyncio
from typing import Any

import pytest

from precast.services.sessions import server_presence
from precast.services.sessions.server_presence import LEASE_S, MAX_EXTRA_S, NoSessions, ServerPresence
from precast.store import issues


class SlowSessions:
    """Sessions on a database that takes `took_s` for the next write, by a clock of its own. The write after the last one is awaited."""

    def __init__(self, took_s: list[float]) -> None:
        self.now_s = 0.0
        self._took_s = took_s
        self.leases_s: list[float] = []
        self.is_over = asyncio.Event()

    async def renew_lease(self, server: str, name: str, lease_s: float, connections: int) -> bool:
        self.leases_s.append(lease_s)
        if not self._took_s:
            self.is_over.set()
            await asyncio.Event().wait()
        took_s = self._took_s.pop(0)
        self.now_s += abs(took_s)
        if took_s < 0:
            raise issues.BUSY.error(waited_s=-took_s)
        return False

    async def end_expired_leases(self, server: str, namesakes: str) -> None:
        pass

    async def list_registered(self, server: str) -> dict[str, int]:
        return {}

    async def end_lease(self, server: str) -> None:
        pass


@pytest.mark.parametrize(
    ("took_s", "extra_s"),
    [
        ([0.0, 8.0, 0.0], [0.0, 0.0, 16.0, 0.0]),
        ([50.0], [0.0, MAX_EXTRA_S]),
        ([-12.0], [0.0, 24.0]),  # it failed
    ],
)
async def test_lease_is_extended_by_twice_the_time_of_the_last_renewal(
    monkeypatch: pytest.MonkeyPatch, took_s: list[float], extra_s: list[float]
) -> None:
    sessions: Any = SlowSessions(took_s)
    monkeypatch.setattr(server_presence, "RENEW_S", 0.0)
    monkeypatch.setattr(server_presence, "RETRY_S", 0.0)
    presence = ServerPresence(sessions, "s1", NoSessions("s1 [compiler]"), lambda: sessions.now_s)
    running = asyncio.create_task(presence.run())
    await sessions.is_over.wait()
    running.cancel()
    await asyncio.wait([running])
    assert [lease_s - LEASE_S for lease_s in sessions.leases_s] == extra_s
