"""Jobs that release and run, on both databases: a catalog is released in the transaction that gives its node the turn."""

from collections.abc import AsyncIterator

import pytest

from lab.compile_services import CompileServices
from lab.job_engine import ANN, JobEngine
from precast.services.identity.signer.client import SignerClient
from precast.services.jobs.creation import NewJob
from precast.services.jobs.requests import RELEASE, request_job
from precast.store.engine.database import Database
from precast.wire.jobs.views import JobLimits

NODES = ("a", "b", "c")


@pytest.fixture
async def compiled(database: Database) -> AsyncIterator[CompileServices]:
    services = CompileServices(database)
    await services.deploy({"manifests/site.pp": "notify { \"I am ${trusted['certname']}\": }"})
    for node in NODES:
        await services.introduce(node)
        await services.submit(node, {"os": {"family": "Debian"}}, {})
    await services.settle()
    yield services
    await services.close()


@pytest.fixture
async def site(compiled: CompileServices, signer: SignerClient) -> JobEngine:
    made = JobEngine(compiled.database, signer)
    await made.connect(*NODES)
    return made


async def start(site: JobEngine, *nodes: str, limits: JobLimits) -> str:
    new = NewJob("job-1", RELEASE, request_job(limits, len(nodes), "try it"), nodes, ANN, "production")
    return (await site.database.write(site.creation.create, new)).id


async def released(compiled: CompileServices) -> list[str]:
    return [node for node in NODES if await compiled.catalogs.released.read_served(node) is not None]


async def test_canary_limits_what_is_released(site: JobEngine, compiled: CompileServices) -> None:
    job = await start(site, *NODES, limits=JobLimits(canary="1"))
    await site.drive()
    assert (await released(compiled), await site.ordered(*NODES)) == (["a"], ["a"])
    await site.carry_out(job, "a")
    await site.drive()
    assert (await released(compiled), await site.ordered(*NODES)) == (list(NODES), list(NODES))


async def test_canary_that_fails_leaves_the_others_as_they_are(site: JobEngine, compiled: CompileServices) -> None:
    job = await start(site, *NODES, limits=JobLimits(canary="1"))
    await site.drive()
    await site.carry_out(job, "a", is_success=False)
    await site.drive()
    assert await released(compiled) == ["a"]
    assert await site.states(job) == {"a": "FAILED(failed)", "b": "SKIPPED(halted)", "c": "SKIPPED(halted)"}


async def test_node_whose_catalog_cannot_be_released_gets_no_turn(site: JobEngine, compiled: CompileServices) -> None:
    await site.connect("d")
    job = await start(site, "a", "d", limits=JobLimits())
    await site.drive()
    assert await site.states(job) == {"a": "QUEUED", "d": "SKIPPED(not-released)"}
    assert await site.message(job, "d") == "nothing is staged"


async def test_release_that_needs_approval_is_not_made(site: JobEngine, compiled: CompileServices) -> None:
    await site.database.write(compiled.environments.set_release_approvals, "production", 1)
    job = await start(site, "a", limits=JobLimits())
    await site.drive()
    assert await site.states(job) == {"a": "SKIPPED(not-released)"}
    assert await released(compiled) == []
    assert "need the approval" in str(await site.message(job, "a"))
