"""A plan whose catalogs would wait for each other for ever, on its nodes and in its order, is refused before anything runs."""

import pytest

from lab.future_catalogs import release_body, wait_then_promise
from lab.plan_engine import OPERATOR, PlanEngine
from precast.base.errors import InputError
from precast.catalog.body import Body, ResourceData
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.plans.bodies import PlanFile, PlanRequest, PlanSource

PLAN = "- {id: one, type: catalog, roles: ['*']}\n"
ORDERED = """
- {id: consume, type: catalog, roles: ['*'], parameters: {tags: [consumer]}}
- {id: produce, type: catalog, roles: ['*'], parameters: {tags: [producer]}, requires: [consume]}
"""
BACKWARDS = ORDERED.replace(", requires: [consume]", "").replace("[consumer]}}", "[consumer]}, requires: [produce]}")


def request(text: str, *names: str, **more: object) -> PlanRequest:
    return PlanRequest(PlanSource("test", [PlanFile("test.yaml", text)]), TargetsBody(list(names)), **more)  # type: ignore[arg-type]


async def release(site: PlanEngine, node: str, body: Body) -> None:
    await site.database.write(release_body, site.database, node, body)


async def test_plan_whose_nodes_wait_for_each_other_is_refused(site: PlanEngine) -> None:
    await release(site, "a", wait_then_promise("one", "two"))
    await release(site, "b", wait_then_promise("two", "one"))
    check = await site.plans.starter.check(request(PLAN, "a", "b"), OPERATOR)
    assert [problem.code for problem in check.errors] == ["CATALOG-014"]
    assert (
        "Notify[waiting] of one on a waits for the value one, promised by Promise[one] of one on b"
        in check.errors[0].text
    )
    with pytest.raises(InputError, match="nodes wait for each other"):
        await site.plans.starter.start(request(PLAN, "a", "b"), OPERATOR)


async def test_plan_in_whose_order_the_producer_comes_after_the_consumer_is_refused(site: PlanEngine) -> None:
    future = {"__ptype": "Precast::Future", "__pvalue": "key"}
    consumer = ResourceData("Notify", "consumer", {"message": future}, ("consumer",))
    producer = ResourceData("Promise", "key", {"value": "x"}, ("producer",))
    await release(site, "a", Body((consumer, producer), (), (), (), {}))
    check = await site.plans.starter.check(request(ORDERED, "a"), OPERATOR)
    assert [problem.code for problem in check.errors] == ["CATALOG-014"]
    assert not (await site.plans.starter.check(request(BACKWARDS, "a"), OPERATOR)).errors


async def test_plan_that_overrides_the_check_starts(site: PlanEngine) -> None:
    await release(site, "a", wait_then_promise("nobody", "two"))
    assert (await site.plans.starter.check(request(PLAN, "a"), OPERATOR)).errors
    assert not (await site.plans.starter.check(request(PLAN, "a", overrides_futures=True), OPERATOR)).errors
    assert not (await site.plans.starter.check(request(PLAN, "a", mode="noop"), OPERATOR)).errors
