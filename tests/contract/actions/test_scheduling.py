"""Due times on both databases: each is handled exactly once, and what was missed, what overlaps and what fails is said."""

import asyncio
from datetime import timedelta

import pytest

from precast.base.clock import ManualClock
from precast.services.actions import schedule
from precast.services.actions.scheduler import RETENTION
from precast.services.approvals.approvals import Participant
from precast.store.engine.query import Transaction
from precast.store.jobs.jobs import NewJobRow
from precast.wire.jobs.views import JobLimits
from tests.contract.actions.action_site import ANN, BOB, FACTS, RUN, ActionSite, code_of

HOURLY = "0 * * * *"
WAITING = JobLimits(away_s=7200.0)


async def test_action_without_a_time_starts_at_once_and_has_ended(site: ActionSite) -> None:
    action = await site.create("web1,web2", work=RUN)
    assert (action.state, action.next_at, action.node_count) == ("active", site.now, 2)
    await site.scheduler.handle_all()
    view = await site.show(action.id)
    (due,) = view.due
    assert (view.state, view.next_at, due.state, due.cause) == ("ended", None, "started", "time")
    assert due.job is not None
    assert (due.job_state, due.counts) == ("going", {"QUEUED": 2})
    job = await site.service.show(due.job)
    assert (job.made_by, job.environment, job.mode) == (ANN.actor, "production", "enforce")
    await site.finish(due.job)
    assert (await site.dues(action.id))[0].counts == {"COMPLETED": 2}


async def test_action_at_a_time_starts_then_and_not_before(site: ActionSite) -> None:
    action = await site.create("web1", at=site.now + timedelta(hours=1))
    await site.advance(3599)
    await site.scheduler.handle_all()
    assert await site.outcomes(action.id) == []
    await site.advance(1)
    await site.scheduler.handle_all()
    assert await site.outcomes(action.id) == [("01:00", "started")]
    assert (await site.show(action.id)).state == "ended"


async def test_cron_action_has_a_job_for_each_due_time(site: ActionSite) -> None:
    action = await site.create("web1", cron=HOURLY)
    for _ in range(3):
        await site.advance(3600)
        await site.scheduler.handle_all()
        await site.scheduler.handle_all()
        await site.finish((await site.show(action.id)).due[0].job or "")
    assert await site.outcomes(action.id) == [("01:00", "started"), ("02:00", "started"), ("03:00", "started")]
    assert len({due.job for due in await site.dues(action.id)}) == 3
    assert (await site.show(action.id)).next_at == site.now + timedelta(hours=1)


async def test_two_schedulers_start_each_due_time_once(site: ActionSite, other_site: ActionSite) -> None:
    actions = [await site.create("web1", cron=HOURLY, overlap="cancel-old") for _ in range(5)]
    for _ in range(3):
        await site.advance(3600)
        await asyncio.gather(*(each.scheduler.handle_all() for each in (site, other_site, site, other_site)))
    for action in actions:
        assert await site.outcomes(action.id) == [("01:00", "started"), ("02:00", "started"), ("03:00", "started")]
    assert len(await site.service.newest()) == 15


async def test_clock_that_steps_back_repeats_nothing_and_reports_the_hold(site: ActionSite, clock: ManualClock) -> None:
    action = await site.create("web1", cron=HOURLY, overlap="cancel-old")
    await site.advance(3600)
    await site.scheduler.handle_all()
    clock.set_back(3600)
    for _ in range(3):
        await site.scheduler.handle_all()
    assert await site.outcomes(action.id) == [("01:00", "started")]
    message = (await site.show(action.id)).message
    assert message is not None
    assert message.startswith("due times wait until the clock is trusted")


async def test_clock_that_jumps_ahead_starts_nothing_until_it_is_trusted(site: ActionSite, clock: ManualClock) -> None:
    action = await site.create("web1", cron=HOURLY)
    clock.set_ahead(10 * 3600)
    await site.scheduler.handle_all()
    assert await site.outcomes(action.id) == []
    clock.set_back(10 * 3600)
    await site.advance(3600)
    await site.scheduler.handle_all()
    assert await site.outcomes(action.id) == [("01:00", "started")]


@pytest.mark.parametrize(
    ("missed", "expected"),
    [
        ("once", ["missed", "missed", "missed", "started"]),
        ("skip", ["missed", "missed", "missed", "missed"]),
        ("all", ["missed", "started", "started", "started"]),
    ],
)
async def test_missed_due_times_follow_the_policy(site: ActionSite, missed: str, expected: list[str]) -> None:
    action = await site.create("web1", cron=HOURLY, missed=missed, missed_limit=3)
    await site.advance(4 * 3600 + 600)
    await site.scheduler.handle_all()
    assert [due.state for due in await site.dues(action.id)] == expected
    assert len(await site.service.newest()) == expected.count("started")
    await site.meters.read()
    assert site.meters.missed == expected.count("missed")


async def test_due_time_past_its_start_deadline_is_missed(site: ActionSite) -> None:
    action = await site.create("web1", at=site.now + timedelta(hours=1), start_within_s=300.0)
    await site.advance(3600 + 301)
    await site.meters.read()
    assert site.meters.lag_s == 301
    await site.scheduler.handle_all()
    (due,) = await site.dues(action.id)
    assert (due.state, due.message) == ("missed", "it could not start within its start deadline")
    await site.meters.read()
    assert (site.meters.lag_s, site.meters.missed) == (0, 1)


async def test_many_missed_due_times_share_a_row_that_counts_them(
    site: ActionSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "LOOK_AHEAD", 30)
    action = await site.create("web1", cron="* * * * *")
    await site.advance(100 * 60)
    await site.scheduler.handle_all()
    rows = await site.database.read(site.actions.list_dues, action.id, 1_000)
    assert sum(row.count for row in rows) == 100
    assert [row.state for row in rows].count("started") == 1


async def test_overlap_skip_starts_no_second_job(site: ActionSite) -> None:
    action = await site.create("web1", cron=HOURLY)
    for _ in range(2):
        await site.advance(3600)
        await site.scheduler.handle_all()
    first, second = await site.dues(action.id)
    assert (first.state, second.state, second.message) == ("started", "skipped", f"the job {first.job} has not ended")


async def test_overlap_queue_one_starts_when_the_job_has_ended(site: ActionSite) -> None:
    action = await site.create("web1", cron=HOURLY, overlap="queue-one")
    for _ in range(3):
        await site.advance(3600)
        await site.scheduler.handle_all()
    assert [due.state for due in await site.dues(action.id)] == ["started", "queued", "skipped"]
    await site.finish((await site.dues(action.id))[0].job or "")
    await site.scheduler.handle_all()
    first, second, third = await site.dues(action.id)
    assert [first.state, second.state, third.state] == ["started", "started", "skipped"]
    assert third.message == "an earlier due time is queued already"
    assert first.job != second.job


async def test_due_time_that_was_queued_last_starts_though_the_schedule_has_ended(site: ActionSite) -> None:
    until = site.now + timedelta(hours=2, minutes=30)
    action = await site.create("web1", cron=HOURLY, overlap="queue-one", until=until)
    for _ in range(2):
        await site.advance(3600)
        await site.scheduler.handle_all()
    assert [due.state for due in await site.dues(action.id)] == ["started", "queued"]
    assert (await site.show(action.id)).state == "ended"
    await site.finish((await site.dues(action.id))[0].job or "")
    await site.scheduler.handle_all()
    assert [due.state for due in await site.dues(action.id)] == ["started", "started"]


async def test_overlap_cancel_old_stops_the_earlier_job(site: ActionSite) -> None:
    action = await site.create("web1", cron=HOURLY, overlap="cancel-old")
    for _ in range(2):
        await site.advance(3600)
        await site.scheduler.handle_all()
    await site.drive()
    first, second = await site.dues(action.id)
    assert (first.job_state, first.counts) == ("stopped", {"CANCELLED": 1})
    assert second.counts == {"QUEUED": 1}


async def test_open_job_of_an_action_is_found_behind_many_that_have_ended(site: ActionSite) -> None:
    action = await site.create("web1", cron=HOURLY)

    def add_jobs() -> Transaction[None]:
        for number in range(30):
            job = NewJobRow(f"job-{number:02}", "facts", b"{}", None, action.id, "person:ann")
            yield from site.jobs.create(job, 1)
            if number:
                yield from site.jobs.set_state(job.id, "done", 0, site.now)

    await site.database.write(add_jobs)
    jobs = await site.database.read(site.starter.find_open_jobs, action.id)
    assert [job.id for job in jobs] == ["job-00"]


async def test_broken_action_stops_no_other_and_says_why(site: ActionSite) -> None:
    broken = await site.create("web1", cron=HOURLY)
    good = await site.create("web2", cron=HOURLY)
    await site.break_action(broken.id)
    await site.advance(3600)
    await site.scheduler.handle_all()
    assert await site.outcomes(good.id) == [("01:00", "started")]
    row = await site.row(broken.id)
    assert (row.state, row.next_at) == ("paused", None)
    assert row.message is not None
    assert row.message.startswith("its schedule cannot be read")


async def test_nobody_who_matches_at_the_start_is_a_failure(site: ActionSite) -> None:
    action = await site.create("role = 'db'", cron=HOURLY, more={"resolve": "start"})
    await site.advance(3600)
    await site.scheduler.handle_all()
    (due,) = await site.dues(action.id)
    assert (due.state, due.job, due.message) == ("failed", None, "no node matches these targets")
    assert (await site.show(action.id)).next_at == site.now + timedelta(hours=1)


async def test_nodes_are_those_of_the_creation_or_of_the_start_as_said(site: ActionSite) -> None:
    at = site.now + timedelta(hours=1)
    fixed = await site.create("web*", at=at)
    found = await site.create("web*", at=at, more={"resolve": "start"})
    await site.connect("web4")
    await site.advance(3600)
    await site.scheduler.handle_all()
    counts = [sum((await site.dues(action.id))[0].counts.values()) for action in (fixed, found)]
    assert counts == [3, 4]


async def test_action_whose_nodes_are_all_gone_fails(site: ActionSite) -> None:
    action = await site.create("web1", at=site.now + timedelta(hours=1))
    await site.database.write(site.fleet.deactivate, "web1")
    await site.advance(3600)
    await site.scheduler.handle_all()
    (due,) = await site.dues(action.id)
    assert (due.state, due.message) == ("failed", "none of its nodes exists and is active any more")


async def test_revoked_token_of_the_owner_starts_nothing(site: ActionSite) -> None:
    action = await site.create("web1", cron=HOURLY)
    await site.database.write(site.tokens.revoke, ANN.token)
    await site.advance(3600)
    await site.scheduler.handle_all()
    (due,) = await site.dues(action.id)
    assert due.state == "failed"
    assert due.message == "the token token-of-ann of its owner was revoked at 2030-01-01 00:00:00Z"
    assert await site.service.newest() == []


async def test_expired_token_of_the_owner_starts_nothing(site: ActionSite) -> None:
    cleo = Participant("person:cleo", "operator", (), "token-of-cleo")
    await site.add_person(cleo, expires_at=site.now + timedelta(minutes=30))
    action = await site.create("web1", cron=HOURLY, by=cleo)
    await site.advance(3600)
    await site.scheduler.handle_all()
    (due,) = await site.dues(action.id)
    assert due.message == "the token token-of-cleo of its owner expired at 2030-01-01 00:30:00Z"


async def test_token_for_an_environment_starts_nothing_on_a_node_that_left_it(site: ActionSite) -> None:
    cleo = Participant("person:cleo", "operator", ("production",), "token-of-cleo")
    await site.add_person(cleo)
    action = await site.create("web1", cron=HOURLY, by=cleo)
    await site.classify("web1", "staging")
    await site.advance(3600)
    await site.scheduler.handle_all()
    (due,) = await site.dues(action.id)
    assert due.message is not None
    assert due.message.startswith("web1 is in the environment staging")


async def test_action_ends_with_its_end_time(site: ActionSite) -> None:
    action = await site.create("web1", cron=HOURLY, until=site.now + timedelta(hours=2), overlap="cancel-old")
    for _ in range(4):
        await site.advance(3600)
        await site.scheduler.handle_all()
    assert await site.outcomes(action.id) == [("01:00", "started"), ("02:00", "started")]
    assert (await site.show(action.id)).state == "ended"


async def test_paused_action_has_no_due_times_until_it_is_resumed(site: ActionSite) -> None:
    action = await site.create("web1", cron=HOURLY)
    view = await site.action_service.change(action.id, "pause", ANN)
    assert (view.state, view.message, view.next_at) == ("paused", "paused by person:ann", None)
    await site.advance(2 * 3600)
    await site.scheduler.handle_all()
    view = await site.action_service.change(action.id, "resume", ANN)
    assert (view.state, view.next_at) == ("active", site.now + timedelta(hours=1))
    await site.advance(3600)
    await site.scheduler.handle_all()
    assert await site.outcomes(action.id) == [("03:00", "started")]


async def test_run_now_starts_between_due_times_and_keeps_the_schedule(site: ActionSite) -> None:
    action = await site.create("web1", cron=HOURLY)
    await site.advance(600)
    await site.action_service.change(action.id, "run-now", BOB)
    await site.scheduler.handle_all()
    (due,) = await site.dues(action.id)
    assert (due.cause, due.state) == ("person", "started")
    assert (await site.show(action.id)).next_at == site.now + timedelta(minutes=50)


async def test_cancel_unschedules_and_cancels_what_is_queued(site: ActionSite) -> None:
    await site.introduce("away1")
    action = await site.create("web1,away1", cron=HOURLY, more={"limits": WAITING})
    await site.advance(3600)
    await site.scheduler.handle_all()
    view = await site.action_service.change(action.id, "cancel", ANN)
    assert (view.state, view.next_at, view.message) == ("cancelled", None, "cancelled by person:ann")
    await site.drive()
    (due,) = await site.dues(action.id)
    assert (due.job_state, due.counts) == ("stopped", {"CANCELLED": 2})
    await site.advance(3600)
    await site.scheduler.handle_all()
    assert len(await site.dues(action.id)) == 1
    assert await code_of(site.action_service.change(action.id, "cancel", ANN)) == "ACTION-002"
    assert await code_of(site.action_service.change(action.id, "resume", ANN)) == "ACTION-002"


async def test_abort_and_retry_concern_the_newest_job(site: ActionSite) -> None:
    action = await site.create("web1,web2")
    assert await code_of(site.action_service.change(action.id, "abort", ANN)) == "ACTION-012"
    assert await code_of(site.action_service.change(action.id, "retry", ANN)) == "ACTION-012"
    await site.scheduler.handle_all()
    job = (await site.dues(action.id))[0].job or ""
    await site.drive()
    await site.carry_out(job, "web1", is_success=False)
    await site.carry_out(job, "web2")
    await site.drive()
    view = await site.action_service.change(action.id, "retry", ANN)
    assert view.due[0].counts == {"COMPLETED": 1, "QUEUED": 1}
    view = await site.action_service.change(action.id, "abort", ANN)
    assert view.due[0].job_state == "aborting"


async def test_old_actions_and_due_times_are_deleted(site: ActionSite) -> None:
    ended, going = await site.create("web1"), await site.create("web2", cron="@weekly", work=FACTS)
    await site.scheduler.handle_all()
    await site.advance(8 * 86_400)
    await site.scheduler.handle_all()
    assert len(await site.dues(going.id)) == 1
    await site.advance(RETENTION.total_seconds())
    assert await site.actions.delete_old(site.now - timedelta(days=1), 10) == 1
    assert await code_of(site.show(ended.id)) == "ACTION-001"
    assert await site.dues(going.id) == []
