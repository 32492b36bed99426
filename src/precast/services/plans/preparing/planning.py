"""Has a child process load, expand and check a plan."""

from collections.abc import AsyncIterator

import msgspec

from precast.base import async_programs
from precast.base.confinement.children import command
from precast.base.confinement.confine import Level
from precast.services.plans import issues
from precast.services.plans.preparing.messages import PlanningAnswer, PlanningRequest

DEADLINE_S = 150.0
MAX_OUT_BYTES = 256 * 1024 * 1024


def planning_command(level: Level) -> list[str]:
    """The command that starts the child process."""
    return command("precast.services.plans.preparing.child", level=level)


async def plan_in_child(request: PlanningRequest, level: Level = Level.STRICT) -> PlanningAnswer:
    """Raises UnavailableError PLAN-101 if the process fails. Cancelling ends it."""

    async def read_input() -> AsyncIterator[bytes]:
        yield msgspec.json.encode(request)

    ended = await async_programs.run(
        planning_command(level), deadline_s=DEADLINE_S, max_out_bytes=MAX_OUT_BYTES, environment={}, stdin=read_input()
    )
    if ended.trouble:
        raise issues.PLANNING_FAILED.error(plan=request.name, reason=ended.trouble.splitlines()[-1])
    return msgspec.json.decode(ended.out, type=PlanningAnswer)
