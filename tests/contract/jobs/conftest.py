"""A server's job engine with four connected nodes."""

import pytest

from lab.job_engine import JobEngine
from precast.base.clock import ManualClock
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.local import open_local_signer
from precast.store.engine.database import Database


@pytest.fixture
async def signer(authority_files: AuthorityFiles, clock: ManualClock) -> SignerClient:
    return await open_local_signer(authority_files, clock)


@pytest.fixture
async def site(database: Database, signer: SignerClient) -> JobEngine:
    made = JobEngine(database, signer)
    await made.connect("a", "b", "c", "d")
    return made
