"""What holds up a task on a node besides other tasks: the node is away, or its maintenance window is closed."""

from datetime import timedelta
from pathlib import Path

import pytest

from lab.job_engine import Windows
from lab.plan_engine import PlanEngine
from precast.base.clock import ManualClock
from precast.services.identity.signer.client import SignerClient
from precast.store.engine.database import Database

PLAN = """
- {id: one, type: skipped, roles: ['*'], test_pre: {fact: os.name}}
- {id: two, type: skipped, roles: ['*'], test_pre: {fact: os.name}, requires: [one]}
"""


@pytest.fixture
def windows() -> Windows:
    return Windows()


@pytest.fixture
async def site(database: Database, signer: SignerClient, tmp_path: Path, windows: Windows) -> PlanEngine:
    made = PlanEngine(database, signer, tmp_path, windows=windows)
    await made.connect("a", "b", "c")
    return made


async def test_pending_task_says_what_else_than_other_tasks_it_waits_for(
    site: PlanEngine, windows: Windows, clock: ManualClock
) -> None:
    opens_at = clock.now() + timedelta(hours=1)
    windows.open("b", opens_at, 60)
    await site.leave("c")
    clock.advance(60)
    await site.connect("a", "b")
    run = await site.start_plan(PLAN, "a", "b", "c", away_s=3600.0)
    found = {
        f"{each.task} on {each.node}": (each.state, each.reason, each.message) for each in await site.instances(run)
    }
    why = f"its maintenance window is closed, or closes too soon, and it may begin at {opens_at:%Y-%m-%d %H:%M:%SZ}"
    assert found == {
        "one on a": ("ready", None, None),
        "two on a": ("pending", None, None),
        "one on b": ("pending", "window", why),
        "two on b": ("pending", "window", why),
        "one on c": ("pending", "away", None),
        "two on c": ("pending", None, None),
    }
