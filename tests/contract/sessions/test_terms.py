"""The term on both databases: it stays, grows with a restore, and a server with a lower one than a node knows begins no session."""

from pathlib import Path

import pytest

from precast.base.clock import ManualClock
from precast.base.errors import UnavailableError
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import Location
from precast.store.schema import backup
from precast.store.sessions.terms import find_term, raise_term
from tests.contract.sessions.test_session_service import Site, hello


@pytest.fixture
async def site(database: Database) -> Site:
    return await Site(database).open("web1")


async def term_of(database: Database) -> int:
    return await database.write(find_term, database.clock.now())


async def test_term_of_a_database_stays(site: Site, clock: ManualClock) -> None:
    first = await site.begin(hello("a"))
    clock.advance(86_400)
    assert (await site.begin(hello("b", "a", term=first.term))).term == first.term > 0


async def test_restored_database_has_a_higher_term(
    site: Site, empty_location: Location, tmp_path: Path, clock: ManualClock
) -> None:
    before = await term_of(site.database)
    await backup.take(site.database, tmp_path / "backup")
    clock.advance(60)
    other = await connect(empty_location, may_create=True, clock=clock)
    try:
        await backup.restore(other, tmp_path / "backup")
        assert await term_of(other) > before
    finally:
        await other.close()


async def test_node_that_knows_a_newer_database_begins_no_session(site: Site) -> None:
    known = await site.begin(hello("a"))
    with pytest.raises(UnavailableError, match="the database of this server is not the newest of the site") as refused:
        await site.begin(hello("b", "a", term=known.term + 1))
    assert refused.value.code == "SESSION-011"
    assert f"precast db raise-term {known.term + 1}" in refused.value.hint
    assert (await site.begin(hello("c", "b", "a", term=known.term))).epoch == known.epoch + 1


async def test_operator_can_raise_the_term_of_the_right_database(site: Site) -> None:
    known = await site.begin(hello("a"))
    newer = known.term + 1_000
    assert await site.database.write(raise_term, newer, site.database.clock.now()) == newer + 1
    assert (await site.begin(hello("b", "a", term=newer))).term == newer + 1
