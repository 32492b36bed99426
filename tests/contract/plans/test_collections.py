"""What sends the files of a `copy_files` from the master runs exactly if some node gets copies of them."""

from typing import Any

import pytest

from lab.plan_engine import OPERATOR, PlanEngine
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.plans.bodies import PlanCheck, PlanFile, PlanRequest, PlanSource, SubsetBody

COPY = "type: copy_files, roles: ['*'], parameters: {files: [{src: /a, dst: /b}]}"
PLAN = f"- {{id: keys, {COPY}}}\n- {{id: other, {COPY}}}\n"


async def check(site: PlanEngine, text: str, *, master: str = "a", **more: Any) -> PlanCheck:
    source = PlanSource("test", [PlanFile("test.yaml", text)])
    request = PlanRequest(source, TargetsBody(["a,b"]), master, **more)
    return await site.plans.starter.check(request, OPERATOR)


@pytest.mark.parametrize(
    ("subset", "needing"),
    [
        (SubsetBody(), ["keys", "keys (collect)", "other", "other (collect)"]),
        (SubsetBody(only=["keys"]), ["keys", "keys (collect)"]),
        (SubsetBody(start=["keys"]), ["keys", "keys (collect)"]),
        (SubsetBody(end=["other"], skip=["keys"]), ["other", "other (collect)"]),
    ],
)
async def test_files_are_collected_for_the_tasks_that_are_chosen(
    site: PlanEngine, subset: SubsetBody, needing: list[str]
) -> None:
    found = await check(site, PLAN, subset=subset)
    assert (found.errors, found.needs_commands) == ([], needing)


async def test_files_that_no_node_gets_are_not_collected(site: PlanEngine) -> None:
    text = f"{PLAN}- {{id: no, {COPY}, condition: {{yaql_exp: \"$.name = 'nobody'\"}}}}\n"
    found = await check(site, text)
    assert (found.instances, found.skipped) == (9, 3)
    assert not [name for name in found.needs_commands if name.startswith("no")]


async def test_files_that_some_node_gets_are_collected(site: PlanEngine) -> None:
    found = await check(site, f"- {{id: one, {COPY}, condition: {{yaql_exp: \"$.name = 'b'\"}}}}\n")
    assert (found.instances, found.skipped, found.needs_commands) == (3, 1, ["one", "one (collect)"])


async def test_no_files_are_collected_in_a_noop_run(site: PlanEngine) -> None:
    found = await check(site, PLAN, mode="noop")
    assert (found.needs_commands, found.skipped) == ([], found.instances)


async def test_plan_that_copies_files_without_a_master_says_that_one_is_to_be_named(site: PlanEngine) -> None:
    (error,) = (await check(site, PLAN, master="")).errors
    assert error.code == "PLAN-106"
    assert "keys (collect), other (collect)" in error.text
