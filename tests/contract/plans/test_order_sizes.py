"""An order that fits in no frame of a session is refused before a run begins."""

import json

from lab.plan_engine import OPERATOR, PlanEngine
from precast.services.plans.order_sizes import MAX_ORDER_BYTES, MAX_PROGRAM_BYTES, measure_program
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.plans.bodies import PlanCheck, PlanFile, PlanRequest, PlanSource


async def _check(site: PlanEngine, data: str) -> PlanCheck:
    task = {"id": "one", "type": "upload_file", "roles": ["*"], "parameters": {"path": "/x", "data": data}}
    source = PlanSource("test", [PlanFile("test.yaml", json.dumps([task]))])
    return await site.plans.starter.check(PlanRequest(source, TargetsBody(["a"])), OPERATOR)


async def test_text_that_fits_in_no_order_is_an_error_of_the_plan(site: PlanEngine) -> None:
    check = await _check(site, '"' * (MAX_PROGRAM_BYTES // 4))
    assert [problem.code for problem in check.errors] == ["PLAN-121"]


async def test_text_without_quotes_may_be_four_times_as_large(site: PlanEngine) -> None:
    check = await _check(site, "x" * (MAX_PROGRAM_BYTES - 10_000))
    assert check.errors == []


def test_program_is_measured_as_its_order_is_sent() -> None:
    assert measure_program('"' * 100_000) > 400_000
    assert 300_000 < measure_program("x" * 300_000) < 310_000
    assert measure_program('"' * 10) >= 40
    assert MAX_PROGRAM_BYTES < MAX_ORDER_BYTES
