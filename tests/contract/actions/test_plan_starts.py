"""Actions that start plans and tasks of modules, on both databases."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from precast.agent.catalog.signatures import is_signed
from precast.services.identity.authority_files import AuthorityFiles
from precast.wire.actions.bodies import ActionPlan, ActionWork, Parameter
from precast.wire.jobs.orders import TASK, Claim, SignedTaskOrder, TaskEnded, TaskOrder
from precast.wire.jobs.programs import ExecutableWork, parse_program
from precast.wire.jobs.signed_orders import signed_task_bytes
from precast.wire.jobs.views import JobLimits
from precast.wire.plans.bodies import InstanceView, PlanFile, PlanSource
from tests.contract.actions.action_site import ANN, BOB, ActionSite, code_of
from tests.contract.actions.commander import Commander

LOOK = "- {id: look, type: skipped, roles: ['*'], test_pre: {file: /, state: directory}}\n"
SHELL = "- {id: clean, type: shell, roles: ['*'], parameters: {cmd: 'rm -rf /tmp/x'}}\n"
BROKEN = "- {id: look, type: skippd, roles: ['*']}\n"
SCRIPT = b"#!/bin/sh\necho '{\"free\": 5}'\n"


def plan_work(text: str, mode: Any = "enforce") -> ActionWork:
    source = PlanSource("tidy", [PlanFile("tidy.yaml", text)])
    return ActionWork("plan", mode, plan=ActionPlan(source))


def named(name: str) -> ActionWork:
    return ActionWork("plan", "enforce", plan=ActionPlan(PlanSource(name)))


async def ordered_tasks(site: ActionSite, node: str) -> list[tuple[SignedTaskOrder, TaskOrder]]:
    """The tasks that a node receives."""
    records = [record for record in await site.orders.read(node, 0, 100) if record.kind == TASK]
    signed = [msgspec.json.decode(record.body, type=SignedTaskOrder) for record in records]
    return [(order, msgspec.json.decode(order.text, type=TaskOrder)) for order in signed]


async def signed_programs(site: ActionSite, files: AuthorityFiles, node: str) -> list[str]:
    """The programs that a node receives with a signature of the authority."""
    return [
        task.program
        for order, task in await ordered_tasks(site, node)
        if order.signature and is_signed(files.certificate, signed_task_bytes(order.text), order.signature)
    ]


async def end_tasks(site: ActionSite, node: str, *, is_success: bool = True, result: str = "") -> None:
    """A node carries out what it was ordered last."""
    _, task = (await ordered_tasks(site, node))[-1]
    await site.report(node, Claim(task.order, 1, "store", "boot"))
    await site.report(node, TaskEnded(task.order, site.now, is_success, "task", "", result=result))
    await site.drive()


async def instances(site: ActionSite, run: str) -> list[InstanceView]:
    return await site.plans.reading.instances(run, "", with_output=True)


async def test_plan_starts_whenever_it_is_due(site: ActionSite) -> None:
    action = await site.create("web1,web2", work=plan_work(LOOK), cron="0 * * * *")
    for number in (1, 2):
        await site.advance(3600)
        await site.connect("web1", "web2")
        await site.scheduler.handle_all()
        assert (await site.dues(action.id))[-1].state == "due", "the plan has to be prepared"
        await site.handle_plans()
        due = (await site.dues(action.id))[-1]
        assert due.state == "started"
        job = await site.service.show(due.job or "")
        assert (job.kind, job.action, job.made_by, job.nodes) == ("plan", action.id, "person:ann", 2)
        await site.drive()
        assert len(await ordered_tasks(site, "web1")) == number
        for node in ("web1", "web2"):
            await end_tasks(site, node)
        assert (await site.service.show(job.id)).state == "done"


async def test_plan_of_the_environment_is_the_one_of_the_start(site: ActionSite) -> None:
    await site.add_environment("production", {"plans/tidy.yaml": LOOK.encode()})
    action = await site.create("web1", work=named("tidy"), at=site.now + timedelta(hours=1))
    assert await code_of(site.create("web1", work=named("nothing"))) == "PLAN-102"
    await site.add_environment("production", {"plans/tidy.yaml": LOOK.replace("look", "look-again").encode()})
    await site.advance(3600)
    await site.connect("web1")
    await site.handle_plans()
    (due,) = await site.dues(action.id)
    assert [instance.task for instance in await instances(site, due.job or "")] == ["look-again"]


@pytest.mark.parametrize("resolve", ["now", "start"])
async def test_commands_of_a_repeated_plan_are_signed_at_each_due_time(
    site: ActionSite, cid: Commander, authority_files: AuthorityFiles, resolve: Any
) -> None:
    until = site.now + timedelta(days=7)
    work = plan_work(SHELL)
    action = await cid.create("web1", work=work, cron="0 * * * *", until=until, resolve=resolve)
    for number in (1, 2):
        await site.advance(3600)
        await site.connect("web1")
        await site.handle_plans()
        await site.drive()
        assert len(await signed_programs(site, authority_files, "web1")) == number
        await end_tasks(site, "web1")
    assert [due.state for due in await site.dues(action.id)] == ["started", "started"]


async def test_plan_whose_commands_have_changed_does_not_start(site: ActionSite, cid: Commander) -> None:
    await site.add_environment("production", {"plans/tidy.yaml": SHELL.encode()})
    action = await cid.create("web1", work=named("tidy"), at=site.now + timedelta(hours=1))
    await site.add_environment("production", {"plans/tidy.yaml": SHELL.replace("/tmp/x", "/").encode()})
    await site.advance(3600)
    await site.connect("web1")
    await site.handle_plans()
    (due,) = await site.dues(action.id)
    assert (due.state, due.message) == (
        "failed",
        "what task clean would run on web1 is not what was ordered when the action was created",
    )


async def test_commands_of_a_plan_are_signed_for_the_nodes_of_the_action_only(
    site: ActionSite, cid: Commander, authority_files: AuthorityFiles
) -> None:
    await cid.create("web1", work=plan_work(SHELL))
    await site.handle_plans()
    await site.drive()
    ((order, task),) = await ordered_tasks(site, "web1")
    assert await signed_programs(site, authority_files, "web1") == [task.program]
    assert order.signature
    other = msgspec.structs.replace(task, node="web2")
    standing = (await site.database.read(site.jobs.find, task.order.split(".")[0])).body  # type: ignore[union-attr]
    sealed = msgspec.json.decode(standing)
    ((_, seal),) = (await site.database.read(site.actions.list_nodes, sealed["standing"]["action"])).items()
    (given,) = msgspec.json.decode(seal or b"", type=dict[str, bytes]).values()
    until = msgspec.convert(sealed["standing"]["until"], type(site.now))
    signer, job = site.signer, task.order.split(".")[0]
    assert await signer.sign_task(task, job, cid.person.token, until, given, sealed["standing"]["action"])
    for wrong in (other, msgspec.structs.replace(task, program=task.program.replace("/tmp/x", "/"))):
        assert (
            await code_of(signer.sign_task(wrong, job, cid.person.token, until, given, sealed["standing"]["action"]))
            == "CA-031"
        )
    assert await code_of(signer.sign_task(task, job, cid.person.token, until, given, "another-action")) == "CA-031"
    assert await code_of(signer.sign_task(task, job, cid.person.token, until, given)) == "CA-031"


async def test_operator_creates_no_plan_that_runs_commands_and_starts_none(site: ActionSite, cid: Commander) -> None:
    assert await code_of(site.create("web1", work=plan_work(SHELL))) == "PLAN-107"
    assert await code_of(site.create("web1", work=ActionWork("task", task="disk"))) == "ACTION-003"
    action = await cid.create("web1", work=plan_work(SHELL), cron="@daily", until=site.now + timedelta(days=7))
    for change in ("run-now", "retry", "resume"):
        assert await code_of(site.action_service.change(action.id, change, ANN)) == "ACTION-003"
    looking = await cid.create("web1", work=plan_work(LOOK), cron="@daily")
    assert (await site.action_service.change(looking.id, "run-now", ANN)).state == "active"


async def test_plan_of_a_revoked_token_does_not_start(site: ActionSite) -> None:
    action = await site.create("web1", work=plan_work(LOOK), at=site.now + timedelta(hours=1))
    await site.database.write(site.tokens.revoke, ANN.token)
    await site.advance(3600)
    await site.handle_plans()
    (due,) = await site.dues(action.id)
    assert (due.state, "was revoked" in (due.message or "")) == ("failed", True)


async def test_token_that_was_revoked_while_the_plan_was_prepared_starts_nothing(
    site: ActionSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = await site.create("web1", work=plan_work(LOOK), at=site.now + timedelta(hours=1))
    await site.advance(3600)
    prepare = site.plan_dues._plans.prepare

    async def revoke_first(*given: Any) -> Any:
        await site.database.write(site.tokens.revoke, ANN.token)
        return await prepare(*given)

    monkeypatch.setattr(site.plan_dues._plans, "prepare", revoke_first)
    await site.handle_plans()
    (due,) = await site.dues(action.id)
    assert (due.state, due.job) == ("failed", None)


async def test_broken_plan_is_refused_or_fails_when_it_is_due(site: ActionSite) -> None:
    assert await code_of(site.create("web1", work=plan_work(BROKEN))) == "PLAN-105"
    await site.add_environment("production", {"plans/tidy.yaml": LOOK.encode()})
    action = await site.create("web1", work=named("tidy"), at=site.now + timedelta(hours=1))
    await site.add_environment("production", {"plans/tidy.yaml": BROKEN.encode()})
    other = await site.create("web2", at=site.now + timedelta(hours=1))
    await site.advance(3600)
    await site.handle_plans()
    (due,) = await site.dues(action.id)
    assert (due.state, "the plan tidy has 1 error" in (due.message or "")) == ("failed", True)
    assert [due.state for due in await site.dues(other.id)] == ["started"], "one broken action stops no other"


async def test_due_time_that_two_servers_prepare_starts_one_run(site: ActionSite, other_site: ActionSite) -> None:
    action = await site.create("web1", work=plan_work(LOOK))
    for server in (site, other_site):
        await server.scheduler.handle_all()
    await site.scheduler.handle_all()
    await other_site.plan_dues.work_off()
    await site.plan_dues.work_off()
    assert [due.state for due in await site.dues(action.id)] == ["started"]
    assert len(await site.service.newest()) == 1


@pytest.mark.parametrize(
    ("overlap", "states"),
    [("skip", ["started", "skipped"]), ("queue-one", ["started", "skipped"]), ("cancel-old", ["skipped", "started"])],
)
async def test_due_time_while_a_plan_is_being_prepared_follows_the_policy(
    site: ActionSite, overlap: Any, states: list[str]
) -> None:
    action = await site.create("web1", work=plan_work(LOOK), cron="0 * * * *", overlap=overlap)
    for _ in range(2):
        await site.advance(3600)
        await site.scheduler.handle_all()
    await site.connect("web1")
    await site.handle_plans()
    await site.handle_plans()
    assert [due.state for due in await site.dues(action.id)] == states


async def test_queued_plan_starts_at_the_end_of_the_earlier_run(site: ActionSite) -> None:
    action = await site.create("web1", work=plan_work(LOOK), cron="0 * * * *", overlap="queue-one")
    for _ in range(2):
        await site.advance(3600)
        await site.connect("web1")
        await site.handle_plans()
        await site.drive()
    assert [due.state for due in await site.dues(action.id)] == ["started", "queued"]
    await end_tasks(site, "web1")
    await site.handle_plans()
    assert [due.state for due in await site.dues(action.id)] == ["started", "started"]


@pytest.mark.parametrize("times", [{"cron": "0 * * * *"}, {}])
async def test_cancel_while_a_plan_is_being_prepared_wins(site: ActionSite, times: dict[str, Any]) -> None:
    action = await site.create("web1", work=plan_work(LOOK), **times)
    await site.advance(3600)
    await site.scheduler.handle_all()
    assert not (await site.show(action.id)).is_over
    await site.scheduler.handle_all()
    assert (await site.action_service.change(action.id, "cancel", BOB)).is_over
    await site.plan_dues.work_off()
    assert [(due.state, due.job) for due in await site.dues(action.id)] == [("skipped", None)]


async def test_nodes_that_return_share_a_run(site: ActionSite) -> None:
    await site.create("web*", work=plan_work(LOOK), on="return", more={"resolve": "start"})
    for node in ("web1", "web3"):
        await site.database.write(site.events.node_returned, node)
    await site.handle_plans()
    (job,) = await site.service.newest()
    assert sorted({instance.node for instance in await instances(site, job.id)}) == ["web1", "web3"]


async def test_retry_repeats_what_has_failed_of_the_run(site: ActionSite) -> None:
    action = await site.create("web1,web2", work=plan_work(LOOK))
    await site.handle_plans()
    (due,) = await site.dues(action.id)
    await site.drive()
    await end_tasks(site, "web1")
    await end_tasks(site, "web2", is_success=False)
    await site.action_service.change(action.id, "retry", BOB)
    await site.drive()
    assert [len(await ordered_tasks(site, node)) for node in ("web1", "web2")] == [1, 2]
    await end_tasks(site, "web2")
    assert (await site.service.show(due.job or "")).counts == {"COMPLETED": 2}


async def test_task_of_a_module_gets_typed_values_and_its_result_is_stored(
    site: ActionSite, cid: Commander, authority_files: AuthorityFiles
) -> None:
    await site.add_environment("production", {"modules/disk/tasks/free.sh": SCRIPT})
    parameters = {"path": Parameter("/var; rm"), "least": Parameter("05", "integer"), "all": Parameter("no", "boolean")}
    work = ActionWork("task", parameters=parameters, task="disk::free")
    action = await cid.create("web1,web2", work=work)
    await site.handle_plans()
    (due,) = await site.dues(action.id)
    await site.drive()
    (program,) = await signed_programs(site, authority_files, "web1")
    parsed = parse_program(program).work
    assert isinstance(parsed, ExecutableWork)
    assert (parsed.name, parsed.parameters) == ("disk::free", {"path": "/var; rm", "least": 5, "all": False})
    await end_tasks(site, "web1", is_success=False)
    await end_tasks(site, "web2", result='{"free":5}')
    steps = {instance.node: instance for instance in await instances(site, due.job or "")}
    assert steps["web1"].state == "failed"
    result = steps["web2"].result
    assert result is not None
    assert result.returned == '{"free":5}'
    assert (await site.show(action.id)).due[0].counts == {"COMPLETED": 1, "FAILED": 1}


@pytest.mark.parametrize(
    ("work", "limits", "code"),
    [
        (ActionWork("plan"), JobLimits(), "ACTION-004"),
        (ActionWork("task"), JobLimits(), "ACTION-004"),
        (plan_work(LOOK), JobLimits(batch="2"), "ACTION-004"),
        (plan_work(LOOK), JobLimits(tolerate="2"), "ACTION-004"),
        (ActionWork("task", task="disk::free"), JobLimits(canary="2"), "ACTION-004"),
        (ActionWork("task", task="disk::free"), JobLimits(), "ACTION-017"),
        (ActionWork("task", task="disk::free", parameters={"n": Parameter("x", "integer")}), JobLimits(), "ACTION-006"),
    ],
)
async def test_plan_that_cannot_be_started_is_refused(
    site: ActionSite, cid: Commander, work: ActionWork, limits: JobLimits, code: str
) -> None:
    assert await code_of(cid.create("web1", work=work, limits=limits)) == code
