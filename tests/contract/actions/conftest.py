"""Two servers with actions on one database, and three connected nodes."""

from datetime import timedelta
from pathlib import Path

import pytest

from precast.base.clock import ManualClock
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.local import open_local_signer
from precast.store.engine.database import Database
from tests.contract.actions.action_site import ANN, BOB, ActionSite
from tests.contract.actions.commander import Commander, add_commander


@pytest.fixture
async def signer(authority_files: AuthorityFiles, clock: ManualClock) -> SignerClient:
    return await open_local_signer(authority_files, clock)


@pytest.fixture
async def site(database: Database, signer: SignerClient, tmp_path: Path) -> ActionSite:
    made = ActionSite(database, signer, tmp_path)
    await made.guard.check()
    for person in (ANN, BOB):
        await made.add_person(person)
    await made.connect("web1", "web2", "web3")
    return made


@pytest.fixture
async def other_site(
    site: ActionSite, other_database: Database, authority_files: AuthorityFiles, tmp_path: Path
) -> ActionSite:
    made = ActionSite(other_database, await open_local_signer(authority_files, other_database.clock), tmp_path, "s2")
    await made.guard.check()
    return made


@pytest.fixture
async def cid(site: ActionSite, signer: SignerClient) -> Commander:
    return await add_commander(site, signer, timedelta(days=365))
