"""Requests of any form are refused as input, or served; none is an internal error."""

import asyncio
from typing import Any

import pytest

from lab.plan_engine import OPERATOR, PlanEngine
from precast.base.errors import InputError, NotFoundError
from precast.services.plans.preparing.messages import PlanningAnswer
from precast.services.plans.preparing.planning import plan_in_child
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.plans.bodies import PlanFile, PlanRequest, PlanSource, RunTaskBody

LOOK = "type: skipped, roles: ['*'], test_pre: {file: /, state: directory}"
PLAN = f"- {{id: one, {LOOK}}}\n"


@pytest.mark.parametrize("name", ["a\x00b", "a\x1b[2Jb", "a\nb", "\ud800"])
async def test_name_that_cannot_be_printed_is_refused(site: PlanEngine, name: str) -> None:
    request = PlanRequest(PlanSource(name, [PlanFile("test.yaml", PLAN)]), TargetsBody(["a"]))
    for verb in (site.plans.starter.start, site.plans.starter.check):
        with pytest.raises(InputError):
            await verb(request, OPERATOR)


@pytest.mark.parametrize("id_", ["a\\0b", "a\\x1b[2Jb", "a\\nb", "\\ud800"])
async def test_task_whose_id_cannot_be_printed_is_an_error_of_the_plan(site: PlanEngine, id_: str) -> None:
    source = PlanSource("test", [PlanFile("test.yaml", PLAN.replace("id: one", f'id: "{id_}"'))])
    check = await site.plans.starter.check(PlanRequest(source, TargetsBody(["a"])), OPERATOR)
    assert check.errors


async def test_master_is_one_node(site: PlanEngine) -> None:
    source = PlanSource("test", [PlanFile("test.yaml", PLAN.replace("'*'", "master"))])
    request = PlanRequest(source, TargetsBody(["a"]), master="*")
    with pytest.raises(InputError) as failure:
        await site.plans.starter.start(request, OPERATOR)
    assert failure.value.code in ("PLAN-105", "PLAN-106")


async def test_node_of_a_repeated_task_may_have_any_name(site: PlanEngine) -> None:
    run = await site.start_plan(PLAN, "a")
    for node in ("b", "\x00", "\ud800"):
        with pytest.raises(Exception, match="one"):
            await site.plans.replays.start(run, RunTaskBody("one", node), OPERATOR)


async def test_many_checks_at_once_start_few_processes(site: PlanEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    running, most = 0, 0

    async def counted(*given: Any) -> PlanningAnswer:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            return await plan_in_child(*given)
        finally:
            running -= 1

    monkeypatch.setattr("precast.services.plans.preparing.preparation.plan_in_child", counted)
    request = PlanRequest(PlanSource("test", [PlanFile("test.yaml", PLAN)]), TargetsBody(["a"]))
    await asyncio.gather(*(site.plans.starter.check(request, OPERATOR) for _ in range(8)))
    assert most <= 2


async def test_refused_start_names_the_place_of_the_first_error_and_how_to_see_all(site: PlanEngine) -> None:
    source = PlanSource("test", [PlanFile("test.yaml", f"{PLAN}- {{id: two, type: shel}}\n")])
    with pytest.raises(
        InputError, match=r"the plan test has 1 error, the first: test\.yaml:2: the type shel"
    ) as failure:
        await site.plans.starter.start(PlanRequest(source, TargetsBody(["a"])), OPERATOR)
    assert "--dry-run" in (failure.value.hint or "")


@pytest.mark.parametrize("name", ["nope", "a\x00b", "\ud800"])
async def test_plans_of_an_environment_that_does_not_exist_are_not_found(site: PlanEngine, name: str) -> None:
    with pytest.raises(NotFoundError, match="there is no environment"):
        await site.plans.sources.list_plans(name)
