"""A server that drives plans, with three connected nodes."""

from pathlib import Path

import pytest

from lab.plan_engine import PlanEngine
from precast.base.clock import ManualClock
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.local import open_local_signer
from precast.store.engine.database import Database

NODES = ("a", "b", "c")


@pytest.fixture
async def signer(authority_files: AuthorityFiles, clock: ManualClock) -> SignerClient:
    return await open_local_signer(authority_files, clock)


@pytest.fixture
async def site(database: Database, signer: SignerClient, tmp_path: Path) -> PlanEngine:
    made = PlanEngine(database, signer, tmp_path)
    await made.connect(*NODES)
    return made
