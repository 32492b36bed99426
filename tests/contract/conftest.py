"""One authority, and two servers of it on one database."""

from pathlib import Path

import pytest

from precast.base.clock import ManualClock
from precast.services.authority import Authority
from precast.store.database import Database
from tests.contract.identity_site import Site


@pytest.fixture
def authority(tmp_path: Path, clock: ManualClock) -> Authority:
    return Authority.create(tmp_path / "authority", clock.now())


@pytest.fixture
def site(database: Database, authority: Authority) -> Site:
    return Site(database, authority)


@pytest.fixture
def other_site(other_database: Database, authority: Authority) -> Site:
    return Site(other_database, authority)
