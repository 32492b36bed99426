"""Servers that are gone are not listed, also if their leases were taken while the clock was ahead."""

import pytest

from precast.base.clock import ManualClock
from precast.store.engine.database import Database
from precast.store.sessions.sessions import Sessions

FORTY_DAYS_S = 40 * 86_400.0


async def living(database: Database) -> list[str]:
    now = database.clock.now()
    return [server.id for server in await Sessions(database).list_servers() if server.lease_until > now]


async def renew(sessions: Sessions, server: str, name: str, connections: int) -> None:
    """Renew a server's lease, as the server does."""
    is_new = await sessions.renew_lease(server, name, 15, connections)
    await sessions.end_expired_leases(server, name if is_new else "")


async def test_server_started_again_under_its_name_leaves_no_ghost_of_itself(
    database: Database, clock: ManualClock
) -> None:
    sessions = Sessions(database)
    await renew(sessions, "s1", "host:8140", 7)
    await renew(sessions, "other", "host2:8140", 1)
    clock.advance(1)
    await renew(sessions, "s2", "host:8140", 0)
    assert await living(database) == ["other", "s2"]
    clock.advance(1)
    await renew(sessions, "s1", "host:8140", 7)
    assert await living(database) == ["other", "s1", "s2"], "it is alive after all, so both are shown"


@pytest.mark.parametrize("ahead_s", [FORTY_DAYS_S, 600.0])
async def test_lease_from_a_clock_that_was_ahead_ends_with_the_next_renewal_of_any_server(
    database: Database, clock: ManualClock, ahead_s: float
) -> None:
    sessions = Sessions(database)
    clock.set_ahead(ahead_s)
    await renew(sessions, "killed", "host:8140", 7)
    await renew(sessions, "alive", "host2:8140", 1)
    clock.set_back(ahead_s)
    await renew(sessions, "alive", "host2:8140", 1)
    assert await living(database) == ["alive"]
