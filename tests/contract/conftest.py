"""One authority, and two servers of it on one database."""

from pathlib import Path

import pytest

from precast.base.clock import ManualClock
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.local import open_local_signer
from precast.store.engine.database import Database
from tests.contract.identity.identity_site import Site


@pytest.fixture
def authority_files(tmp_path: Path, clock: ManualClock) -> AuthorityFiles:
    files = AuthorityFiles(tmp_path / "authority")
    with files.created(Authority.new(clock.now())):
        return files


@pytest.fixture
async def site(database: Database, authority_files: AuthorityFiles) -> Site:
    return Site(database, await open_local_signer(authority_files, database.clock))


@pytest.fixture
async def other_site(other_database: Database, authority_files: AuthorityFiles) -> Site:
    return Site(other_database, await open_local_signer(authority_files, other_database.clock))
