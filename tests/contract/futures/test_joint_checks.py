"""A run whose nodes would wait for each other, or for a value that nobody promises, does not start; a person may override that."""

from typing import Any

import pytest

from lab.future_catalogs import wait_then_promise
from lab.future_site import FutureSite
from precast.base.errors import ConflictError
from precast.catalog.body import Body, ResourceData
from precast.wire.jobs.views import NewRunJob
from precast.wire.nodes.bodies import TargetsBody

KEY = "db/endpoint"


def run_over(*nodes: str, **more: Any) -> NewRunJob:
    return NewRunJob(TargetsBody(list(nodes)), **more)


async def test_run_whose_values_are_promised_starts(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    assert (await site.service.start(run_over("db1", "web1"), "ann")).state == "going"


async def test_run_that_nobody_promises_a_value_to_does_not_start(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    with pytest.raises(ConflictError, match="Notify\\[db/endpoint\\] of web1 needs db/endpoint") as refused:
        await site.service.start(run_over("web1"), "ann")
    assert refused.value.code == "FUTURE-050"
    assert "precast future put db/endpoint" in refused.value.hint
    assert await site.service.newest() == []


async def test_standing_value_is_enough(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    await site.release("web1", needs=[KEY])
    await site.promise("db1", KEY, "x")
    assert (await site.service.start(run_over("web1"), "ann")).state == "going"


async def test_nodes_that_wait_for_each_other_are_named_and_do_not_start(site: FutureSite) -> None:
    await site.release_body("db1", wait_then_promise("one", "two"))
    await site.release_body("web1", wait_then_promise("two", "one"))
    with pytest.raises(ConflictError, match="nodes wait for each other") as refused:
        await site.service.start(run_over("db1", "web1"), "ann")
    assert "Notify[waiting] of web1 waits for the value two, promised by Promise[two] of db1" in refused.value.message


async def test_no_op_run_waits_for_nothing_and_starts(site: FutureSite) -> None:
    await site.release_body("db1", wait_then_promise("one", "two"))
    await site.release_body("web1", wait_then_promise("two", "one"))
    assert (await site.service.start(run_over("db1", "web1", mode="noop"), "ann")).state == "going"


async def test_promise_that_the_tags_of_the_run_leave_out_is_not_made(site: FutureSite) -> None:
    await site.release("db1", [KEY])
    future = {"__ptype": "Precast::Future", "__pvalue": KEY}
    tagged = Body((ResourceData("Notify", "a", {"message": future}, ("web",)),), (), (), (), {})
    await site.release_body("web1", tagged)
    assert (await site.service.start(run_over("db1", "web1"), "ann")).state == "going"
    with pytest.raises(ConflictError, match="which no node of the job promises"):
        await site.service.start(run_over("db1", "web1", tags=["web"]), "ann")


async def test_override_starts_the_run_and_is_audited(site: FutureSite) -> None:
    await site.release_body("db1", wait_then_promise("one", "two"))
    await site.release_body("web1", wait_then_promise("two", "one"))
    await site.service.start(run_over("db1", "web1", overrides_futures=True), "ann")
    (entry,) = [entry for entry in await site.audit.read_latest() if entry.action == "run.start"]
    assert entry.detail["overrides_futures"] is True
