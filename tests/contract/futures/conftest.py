"""A server with futures, whose hub delivers values, and a second one on the same database."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from lab.future_site import FutureSite
from precast.base.clock import ManualClock
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.local import open_local_signer
from precast.store.engine.database import Database


@pytest.fixture
async def signer(authority_files: AuthorityFiles, clock: ManualClock) -> SignerClient:
    return await open_local_signer(authority_files, clock)


@pytest.fixture
async def site(database: Database, signer: SignerClient) -> AsyncIterator[FutureSite]:
    made = FutureSite(database, signer)
    async with running(made):
        await made.connect("db1", "db2", "web1", "web2")
        yield made


@pytest.fixture
async def other(other_database: Database, signer: SignerClient) -> AsyncIterator[FutureSite]:
    made = FutureSite(other_database, signer, "s2")
    async with running(made):
        yield made


@contextlib.asynccontextmanager
async def running(site: FutureSite) -> AsyncIterator[None]:
    """Open the keys of a site, and deliver values while the block runs."""
    await site.open()
    task = asyncio.create_task(site.hub.run())
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
