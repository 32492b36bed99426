"""Two servers with actions on one database, and three connected nodes."""

import pytest

from precast.base.clock import ManualClock
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.local import open_local_signer
from precast.store.engine.database import Database
from tests.contract.actions.action_site import ANN, BOB, ActionSite


@pytest.fixture
async def signer(authority_files: AuthorityFiles, clock: ManualClock) -> SignerClient:
    return await open_local_signer(authority_files, clock)


@pytest.fixture
async def site(database: Database, signer: SignerClient) -> ActionSite:
    made = ActionSite(database, signer)
    await made.guard.check()
    for person in (ANN, BOB):
        await made.add_person(person)
    await made.connect("web1", "web2", "web3")
    return made


@pytest.fixture
async def other_site(site: ActionSite, other_database: Database, authority_files: AuthorityFiles) -> ActionSite:
    made = ActionSite(other_database, await open_local_signer(authority_files, other_database.clock), "s2")
    await made.guard.check()
    return made
