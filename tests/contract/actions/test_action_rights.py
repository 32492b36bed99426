"""Who may create, see and change actions on both databases, and which of them other people must approve."""

from datetime import timedelta
from typing import Any

import pytest

from precast.services.approvals.approvals import VALID, Participant
from precast.wire.actions.bodies import ActionTimes, ActionWork, NewAction, Parameter
from precast.wire.approvals.bodies import DecisionBody
from precast.wire.nodes.bodies import TargetsBody
from tests.contract.actions.action_site import ANN, BOB, FACTS, RUN, ActionSite, code_of

PROD = Participant("person:pia", "operator", ("production",), "token-of-pia")
STAGING = Participant("person:sam", "operator", ("staging",), "token-of-sam")
BOTH = Participant("person:bea", "operator", ("production", "staging"), "token-of-bea")
WHY = DecisionBody("fine")


@pytest.fixture
async def staged(site: ActionSite) -> ActionSite:
    """web1 and web2 are in production, web3 is in staging."""
    for person in (PROD, STAGING, BOTH):
        await site.add_person(person)
    for name in ("production", "staging"):
        await site.add_environment(name)
    await site.classify("web3", "staging")
    return site


async def refused(site: ActionSite, new: NewAction, by: Participant = ANN) -> str:
    return await code_of(site.action_creation.create(new, by))


# Environments


async def test_token_for_an_environment_creates_actions_only_there(staged: ActionSite) -> None:
    action = await staged.create("web1,web2", by=PROD)
    assert action.environment == "production"
    assert await code_of(staged.create("web3", by=PROD)) == "ACTION-007"
    assert await code_of(staged.create("web*", by=PROD)) == "ACTION-007"
    assert await code_of(staged.create("web1", by=PROD._replace(role="viewer"))) == "ACTION-003"
    assert await code_of(staged.create("web1", by=PROD._replace(token=""))) == "ACTION-014"


async def test_action_belongs_to_an_environment_only_if_all_nodes_do(staged: ActionSite) -> None:
    assert (await staged.create("web3")).environment == "staging"
    assert (await staged.create("web*")).environment is None
    assert await code_of(staged.create("web*", by=BOTH)) == "ACTION-008"
    later = {"resolve": "start"}
    assert (await staged.create("db*", by=PROD, more=later, cron="@daily")).environment == "production"
    assert await code_of(staged.create("db*", by=BOTH, more=later, cron="@daily")) == "ACTION-008"
    assert (await staged.create("db*", more=later, cron="@daily")).environment is None


async def test_token_for_an_environment_sees_and_changes_only_its_actions(staged: ActionSite) -> None:
    mine, other, wide = [await staged.create(targets) for targets in ("web3", "web1", "web*")]
    service = staged.action_service
    assert [view.id for view in await service.list_newest(STAGING.environments)] == [mine.id]
    assert {view.id for view in await service.list_newest(BOTH.environments)} == {mine.id, other.id}
    assert {view.id for view in await service.list_newest(())} == {mine.id, other.id, wide.id}
    assert (await service.show(mine.id, STAGING.environments)).id == mine.id
    for hidden in (other, wide):
        assert await code_of(service.show(hidden.id, STAGING.environments)) == "ACTION-001"
        assert await code_of(service.change(hidden.id, "cancel", STAGING)) == "ACTION-001"
    assert (await service.change(mine.id, "cancel", STAGING)).state == "cancelled"
    assert await code_of(service.show("' OR 1", ())) == "ACTION-001"
    assert await code_of(service.change(other.id, "explode", ANN)) == "ACTION-013"


# Approvals


async def need(site: ActionSite, count: int) -> None:
    await site.database.write(site.environments.set_action_approvals, "production", count)


async def test_action_waits_until_another_person_approves_it(staged: ActionSite) -> None:
    await need(staged, 1)
    action = await staged.create("web1", work=RUN, cron="0 * * * *")
    assert (action.state, action.next_at, action.request is not None) == ("awaiting-approval", None, True)
    assert action.message == f"QUEUED, because other people must approve it: `precast approval show {action.request}`"
    await staged.advance(3600)
    await staged.scheduler.handle_all()
    assert await staged.dues(action.id) == []
    assert await code_of(staged.action_service.change(action.id, "run-now", ANN)) == "ACTION-002"
    request = action.request or ""
    assert await code_of(staged.approvals.approve(request, WHY, ANN)) == "APPROVAL-003"
    view = await staged.approvals.approve(request, WHY, BOB)
    assert (view.state, view.outcome, view.nodes) == ("granted", f"the action {action.id} is active", [])
    assert "run (enforce) on web1 (1 node), by the schedule" in view.subject
    assert (await staged.show(action.id)).next_at == staged.now + timedelta(hours=1)
    await staged.advance(3600)
    await staged.scheduler.handle_all()
    assert await staged.outcomes(action.id) == [("02:00", "started")]


async def test_approved_action_starts_at_its_own_times_only(staged: ActionSite) -> None:
    await need(staged, 1)
    action = await staged.create("web1", work=RUN, cron="0 * * * *")
    await staged.approvals.approve(action.request or "", WHY, BOB)
    assert await code_of(staged.action_service.change(action.id, "run-now", ANN)) == "ACTION-015"


async def test_reboot_on_each_return_is_refused(staged: ActionSite) -> None:
    assert await code_of(staged.create("web1", work=ActionWork("reboot"), on="return")) == "ACTION-005"


async def test_action_for_now_starts_when_it_is_approved(staged: ActionSite) -> None:
    await need(staged, 1)
    action = await staged.create("web1", work=RUN, missed="skip")
    await staged.advance(3600)
    await staged.approvals.approve(action.request or "", WHY, BOB)
    await staged.scheduler.handle_all()
    assert await staged.outcomes(action.id) == [("01:00", "started")]


async def test_action_that_is_approved_after_its_time_does_not_start(staged: ActionSite) -> None:
    await need(staged, 1)
    due_at = staged.now + timedelta(hours=1)
    late = await staged.create("web1", work=RUN, at=due_at)
    within = await staged.create("web1", work=RUN, at=due_at, start_within_s=3600)
    await staged.advance(2 * 3600)
    view = await staged.approvals.approve(late.request or "", WHY, BOB)
    assert view.outcome == f"the action {late.id} was due at {due_at:%Y-%m-%d %H:%M:%SZ} and does not start any more"
    await staged.approvals.approve(within.request or "", WHY, BOB)
    await staged.scheduler.handle_all()
    assert await staged.outcomes(late.id) == [("01:00", "missed")]
    assert (await staged.show(late.id)).state == "ended"
    assert [due.message for due in await staged.dues(late.id)] == ["it was approved after its time"]
    assert await staged.outcomes(within.id) == [("01:00", "started")]


async def test_job_is_not_repeated_when_the_owner_may_not_do_it_any_more(site: ActionSite) -> None:
    action = await site.create("web1", work=RUN)
    await site.scheduler.handle_all()
    (due,) = await site.dues(action.id)
    await site.drive()
    await site.carry_out(due.job or "", "web1", is_success=False)
    await site.drive()
    await site.database.write(site.tokens.revoke, ANN.token)
    assert await code_of(site.action_service.change(action.id, "retry", BOB)) == "ACTION-016"
    assert await site.states(due.job or "") == {"web1": "FAILED(failed)"}


async def test_rejected_request_says_so_and_nothing_starts(staged: ActionSite) -> None:
    await need(staged, 1)
    action = await staged.create("web1", work=RUN)
    await staged.approvals.reject(action.request or "", WHY, BOB)
    view = await staged.show(action.id)
    assert view.message == f"its request {action.request} is rejected: rejected by person:bob"
    await staged.scheduler.handle_all()
    assert await staged.dues(action.id) == []
    assert (await staged.action_service.change(action.id, "cancel", ANN)).state == "cancelled"


async def test_action_that_nobody_approves_in_time_ends(staged: ActionSite) -> None:
    await need(staged, 1)
    action = await staged.create("web1", work=RUN)
    await staged.scheduler.clean_up()
    assert (await staged.show(action.id)).state == "awaiting-approval"
    await staged.advance(VALID.total_seconds() + 1)
    await staged.scheduler.clean_up()
    view = await staged.show(action.id)
    assert (view.state, view.message) == ("cancelled", "nobody approved it in time")


async def test_cancelled_action_makes_its_request_void(staged: ActionSite) -> None:
    await need(staged, 1)
    action = await staged.create("web1", work=RUN)
    await staged.action_service.change(action.id, "cancel", ANN)
    assert (await staged.approvals.approve(action.request or "", WHY, BOB)).state == "void"


async def test_only_actions_that_change_nodes_need_approval(staged: ActionSite) -> None:
    await need(staged, 1)
    for work in (FACTS, ActionWork("run", "noop")):
        assert (await staged.create("web1", work=work)).state == "active"
    for work in (RUN, ActionWork("restart"), ActionWork("reboot"), ActionWork("release", "enforce")):
        assert (await staged.create("web1", work=work)).state == "awaiting-approval"
    assert (await staged.create("web3", work=RUN)).state == "active"
    assert await code_of(staged.create("web*", work=RUN)) == "ACTION-008"


async def test_environment_that_requires_approval_later_stops_an_action(staged: ActionSite) -> None:
    action = await staged.create("web1", work=RUN, cron="0 * * * *")
    await need(staged, 1)
    await staged.advance(3600)
    await staged.scheduler.handle_all()
    (due,) = await staged.dues(action.id)
    assert due.message == "actions in the environment production need approvals, which this one does not have"


async def test_release_by_an_action_is_refused_where_releases_need_approval(staged: ActionSite) -> None:
    work = ActionWork("release", "enforce")
    scheduled = await staged.create("web1", work=work, cron="0 * * * *")
    await staged.database.write(staged.environments.set_release_approvals, "production", 1)
    assert await code_of(staged.create("web1", work=work)) == "ACTION-009"
    await staged.advance(3600)
    await staged.scheduler.handle_all()
    (due,) = await staged.dues(scheduled.id)
    assert (due.state, "need approvals of exact catalogs" in (due.message or "")) == ("failed", True)


# What is refused


@pytest.mark.parametrize(
    ("times", "code"),
    [
        ({"cron": "nonsense"}, "CRON-001"),
        ({"cron": "@daily", "zone": "Mars/Olympus"}, "CRON-002"),
        ({"cron": "0 0 30 2 *"}, "CRON-003"),
        ({"cron": "@daily", "on": "return"}, "ACTION-005"),
        ({"on": "enrolment"}, "ACTION-005"),
        ({"at": timedelta(hours=-1)}, "ACTION-005"),
        ({"at": timedelta(days=5000)}, "ACTION-005"),
        ({"at": timedelta(hours=2), "until": timedelta(hours=1)}, "ACTION-005"),
        ({"cron": "@yearly", "until": timedelta(hours=1)}, "ACTION-005"),
    ],
)
async def test_times_that_make_no_sense_are_refused(site: ActionSite, times: dict[str, Any], code: str) -> None:
    moments: dict[str, Any] = {
        name: site.now + value if isinstance(value, timedelta) else value for name, value in times.items()
    }
    new = NewAction(FACTS, TargetsBody(["web1"]), ActionTimes(**moments))
    assert await refused(site, new) == code


async def test_plans_unknown_nodes_and_bad_parameters_are_refused(site: ActionSite) -> None:
    one = TargetsBody(["web1"])
    assert await refused(site, NewAction(ActionWork("plan"), one)) == "ACTION-004"
    assert await refused(site, NewAction(FACTS, TargetsBody())) == "TARGET-005"
    assert await refused(site, NewAction(FACTS, TargetsBody(["nobody"]))) == "NODE-001"
    assert await refused(site, NewAction(FACTS, TargetsBody(["x*"]))) == "TARGET-007"
    commander = ANN._replace(role="commands")
    work = ActionWork("command", argv=["echo", "{count}"], parameters={"count": Parameter("x", "integer")})
    assert await refused(site, NewAction(work, one)) == "ACTION-003"
    assert await refused(site, NewAction(work, one), commander) == "ACTION-006"
    assert await refused(site, NewAction(ActionWork("command"), one), commander) == "RUN-003"
