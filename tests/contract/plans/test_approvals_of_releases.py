"""Where releases need the approval of other people, a plan applies no entry point either."""

from lab.plan_engine import PlanEngine
from precast.app.plans import build_entry_points
from precast.services.code.file_trees import FileTree
from precast.services.plans.preparing.catalogs import CatalogPins
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments, NewVersion
from precast.store.engine.query import Transaction
from precast.store.plans.runs import ProgramRow
from precast.wire.jobs.programs import ManifestWork, TaskProgram, program_text

ENTRY = "modules/x/examples/y.pp"


def deploy(environments: Environments, blobs: Blobs, approvals: int) -> Transaction[None]:
    tree = FileTree({})
    yield from blobs.put(tree.version, tree.encode())
    yield from environments.make_current(NewVersion("production", tree.version, "a test", None, "person:ann"), 1)
    yield from environments.set_release_approvals("production", approvals)


async def find_codes(site: PlanEngine, mode: str) -> list[str]:
    environments = Environments(site.database)
    pins = CatalogPins(site.database, build_entry_points(site.database), environments)
    work = ManifestWork(ENTRY, "noop" if mode == "noop" else "enforce")
    row = ProgramRow(1, program_text(TaskProgram("apply", work)), ["a"])
    return [problem.code for problem in await pins.check_approvals("production", [row])]


async def test_entry_point_is_not_applied_where_releases_need_approvals(site: PlanEngine) -> None:
    await site.database.write(deploy, Environments(site.database), Blobs(site.database), 1)
    assert await find_codes(site, "enforce") == ["PLAN-123"]
    assert await find_codes(site, "noop") == []


async def test_entry_point_is_applied_where_releases_need_none(site: PlanEngine) -> None:
    await site.database.write(deploy, Environments(site.database), Blobs(site.database), 0)
    assert await find_codes(site, "enforce") == []
