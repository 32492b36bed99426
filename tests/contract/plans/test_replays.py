"""A task of a run is repeated on one node, with what it had there: as a run of its own."""

import json
from collections.abc import Awaitable, Callable

import pytest

from lab.job_engine import ANN
from lab.plan_engine import OPERATOR, PlanEngine
from precast.base.errors import ConflictError, DeniedError, InputError
from precast.services.approvals.approvals import Participant
from precast.services.jobs.requests import decode_request
from precast.store.nodes.nodes import Fleet, NodeClassification
from precast.wire.jobs import states as job_states
from precast.wire.jobs.views import OutputView
from precast.wire.plans.bodies import PlanFile, PlanSource, RunTaskBody

LOOK = "type: skipped, roles: ['*'], test_pre: {file: /, state: directory}"
NEEDY = f"- {{id: one, {LOOK}}}\n- {{id: two, {LOOK}, requires: [one], inputs: {{port: {{task: one, key: port}}}}}}\n"
OF_PRODUCTION = Participant("person:bob", "operator", ["production"])


async def _run(site: PlanEngine, *failing: str) -> str:
    run = await site.start_plan(NEEDY, "a", overrides_window=True)
    (order,) = await site.open_orders(run, "a")
    await site.begin_task("a", order)
    await site.end_task("a", order, is_success=not failing, result={"port": 80})
    await site.drive()
    await site.play(run, "a")
    return run


async def test_repeated_task_has_the_inputs_that_it_had(site: PlanEngine) -> None:
    run = await _run(site)
    again = (await site.plans.replays.start(run, RunTaskBody("two", "a"), OPERATOR)).run.id
    await site.drive()
    (order,) = await site.open_orders(again, "a")
    assert json.loads(order.inputs) == {"port": 80}
    assert await site.play(again, "a") == ["two on a"]
    assert (await site.show(again)).run.state == "done"


async def test_repeated_task_overrides_no_window_and_what_does_is_audited(site: PlanEngine) -> None:
    run = await _run(site)
    again = (await site.plans.replays.start(run, RunTaskBody("two", "a"), OPERATOR)).run.id
    job = await site.database.read(site.jobs.find, again)
    assert job is not None
    assert not decode_request(job).overrides_window
    entries = {entry.detail["run"]: entry.detail for entry in await site.audit.read_latest()}
    assert (entries[run]["overrides_window"], entries[again]["overrides_window"]) == (True, False)


@pytest.mark.parametrize("verb", ["resume", "retry", "run-task", "stop and resume"])
async def test_token_of_an_environment_repeats_nothing_on_nodes_that_have_left_it(site: PlanEngine, verb: str) -> None:
    if verb == "stop and resume":
        run = await site.start_plan(NEEDY, "a")
        await site.plans.changes.stop(run, OPERATOR, job_states.STOPPING)
        await site.drive()
    else:
        run = await _run(site, "one")
    await site.database.write(Fleet(site.database).set_classification, "a", NodeClassification("secret", None, True))
    attempts: dict[str, Callable[[], Awaitable[object]]] = {
        "retry": lambda: site.plans.changes.retry(run, [], OF_PRODUCTION),
        "run-task": lambda: site.plans.replays.start(run, RunTaskBody("one", "a"), OF_PRODUCTION),
    }
    attempt = attempts.get(verb, lambda: site.plans.changes.resume(run, OF_PRODUCTION))
    with pytest.raises(DeniedError) as failure:
        await attempt()
    assert failure.value.code == "RUN-006"


async def test_run_is_not_rebased_on_another_environment(site: PlanEngine) -> None:
    run = await _run(site, "one")
    await site.database.write(Fleet(site.database).set_classification, "a", NodeClassification("other", None, True))
    source = PlanSource("test", [PlanFile("test.yaml", NEEDY)])
    for change in (site.plans.rebasing.preview, site.plans.rebasing.rebase):
        with pytest.raises(InputError) as failure:
            await change(run, source, OPERATOR)
        assert failure.value.code == "PLAN-104"


@pytest.mark.parametrize("verb", ["resume", "retry"])
async def test_run_of_a_plan_is_repeated_only_as_a_plan(site: PlanEngine, verb: str) -> None:
    run = await _run(site, "one")
    with pytest.raises(ConflictError) as failure:
        await getattr(site.service, verb)(run, ANN)
    assert failure.value.code == "RUN-009"


async def test_what_a_task_has_returned_is_seen_only_with_the_right_to_see_output(site: PlanEngine) -> None:
    run = await _run(site)
    shown = await site.plans.reading.instances(run, "", with_output=True)
    assert [view.result.returned for view in shown if view.result] == ['{"port":80}', ""]
    hidden = await site.plans.reading.instances(run, "")
    changes = (await site.plans.reading.changes(run, 0, 0.0)).changes
    steps = await site.service.steps(run, "")
    changed = (await site.service.changes(run, 0, 0.0)).changes
    for views in (hidden, changes, steps, changed):
        results = [view.result for view in views if not isinstance(view, OutputView) and view.result]
        assert len(results) == 2
        assert {result.returned for result in results} == {""}


async def test_line_of_output_that_explains_a_failure_is_seen_only_with_the_right_to_see_output(
    site: PlanEngine,
) -> None:
    run = await site.start_plan(NEEDY, "a")
    (order,) = await site.open_orders(run, "a")
    await site.begin_task("a", order)
    await site.end_task("a", order, is_success=False, telling_line="password is secret")
    await site.drive()
    reading, service = site.plans.reading, site.service
    for with_output, message in ((True, "it ended with 3: password is secret"), (False, "it ended with 3")):
        (failure,) = (await reading.show(run, with_output=with_output)).failures
        page = await reading.changes(run, 0, 0.0, with_output=with_output)
        (failed, _) = await reading.instances(run, "", with_output=with_output)
        assert {failure.message, failed.message, page.run.failures[0].message} == {message}
    shown = (await service.changes(run, 0, 0.0), await service.steps(run, ""), await reading.instances(run, ""))
    assert "secret" not in str(shown)
