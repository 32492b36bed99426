"""Commands by actions on both databases: the orders of every due time are signed, until the owner's token is revoked."""

from datetime import timedelta
from typing import Literal

import msgspec
import pytest

from precast.agent.catalog.signatures import is_signed
from precast.services.actions.stored import decode_action
from precast.services.approvals.approvals import Participant
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.client import SignerClient
from precast.wire.actions.bodies import ActionWork, Parameter
from precast.wire.jobs.orders import EXEC, SignedExecOrder
from precast.wire.jobs.signed_orders import signed_order_bytes
from tests.contract.actions.action_site import ActionSite, code_of
from tests.contract.actions.commander import Commander, add_commander


async def signed_commands(site: ActionSite, files: AuthorityFiles, node: str) -> list[list[str]]:
    """The commands that a node receives with a signature of the authority."""
    records = [record for record in await site.orders.read(node, 0, 100) if record.kind == EXEC]
    orders = [msgspec.json.decode(record.body, type=SignedExecOrder) for record in records]
    return [
        msgspec.json.decode(order.text)["argv"]
        for order in orders
        if is_signed(files.certificate, signed_order_bytes(order.text), order.signature)
    ]


async def test_command_at_a_time_is_signed_when_it_is_due(
    site: ActionSite, cid: Commander, authority_files: AuthorityFiles
) -> None:
    action = await cid.create("web1,web2", at=site.now + timedelta(days=20))
    await site.advance(20 * 86_400)
    await site.connect("web1", "web2")
    await site.scheduler.handle_all()
    await site.drive()
    assert await signed_commands(site, authority_files, "web1") == [["uptime", "-p"]]
    assert [due.state for due in await site.dues(action.id)] == ["started"]


@pytest.mark.parametrize("resolve", ["now", "start"])
async def test_repeated_command_is_signed_at_each_due_time(
    site: ActionSite, cid: Commander, authority_files: AuthorityFiles, resolve: Literal["now", "start"]
) -> None:
    until = site.now + timedelta(days=7)
    action = await cid.create("web1", cron="0 * * * *", until=until, resolve=resolve)
    for number in (1, 2):
        await site.advance(3600)
        await site.connect("web1")
        await site.scheduler.handle_all()
        await site.drive()
        assert len(await signed_commands(site, authority_files, "web1")) == number
        await site.finish((await site.dues(action.id))[-1].job or "")


async def test_command_of_a_revoked_token_does_not_run(
    site: ActionSite, cid: Commander, authority_files: AuthorityFiles
) -> None:
    action = await cid.create("web1", cron="0 * * * *", until=site.now + timedelta(days=7))
    await site.database.write(site.tokens.revoke, cid.person.token)
    await site.advance(3600)
    await site.scheduler.handle_all()
    (due,) = await site.dues(action.id)
    assert due.state == "failed"
    assert "was revoked" in (due.message or "")


async def test_parameters_stay_one_argument_each(
    site: ActionSite, cid: Commander, authority_files: AuthorityFiles
) -> None:
    parameters = {"name": Parameter("a b; rm -rf /"), "count": Parameter("+05", "integer")}
    work = ActionWork("command", argv=["echo", "--for={name}", "{count}"], parameters=parameters)
    await cid.create("web1", work=work)
    await site.scheduler.handle_all()
    await site.drive()
    assert await signed_commands(site, authority_files, "web1") == [["echo", "--for=a b; rm -rf /", "5"]]


async def test_command_cannot_be_ordered_too_far_in_advance(site: ActionSite, cid: Commander) -> None:
    assert await code_of(cid.create("web1", at=site.now + timedelta(days=30))) == "ACTION-010"
    assert await code_of(cid.create("web1", cron="@daily")) == "ACTION-010"
    assert await code_of(cid.create("web1", cron="@daily", until=site.now + timedelta(days=30))) == "ACTION-010"
    assert await code_of(cid.create("web1", on="return", resolve="start")) == "ACTION-010"


async def test_command_that_was_sealed_once_runs_once(site: ActionSite, cid: Commander) -> None:
    action = await cid.create("web1", at=site.now + timedelta(hours=1))
    await site.action_service.change(action.id, "run-now", cid.person)
    await site.scheduler.handle_all()
    await site.finish((await site.dues(action.id))[0].job or "")
    await site.advance(3600)
    await site.scheduler.handle_all()
    first, second = await site.dues(action.id)
    assert (first.state, second.state) == ("started", "failed")
    assert "sealed for one job" in (second.message or "")


async def test_operator_may_stop_a_command_but_not_start_it(site: ActionSite, cid: Commander) -> None:
    operator = Participant("person:ann", "operator", (), "token-of-ann")
    action = await cid.create("web1", cron="@daily", until=site.now + timedelta(days=7))
    for change in ("run-now", "retry", "resume"):
        assert await code_of(site.action_service.change(action.id, change, operator)) == "ACTION-003"
    assert (await site.action_service.change(action.id, "pause", operator)).state == "paused"
    assert (await site.action_service.change(action.id, "resume", cid.person, kinds=["command"])).state == "active"
    other = await site.create("web1", cron="@daily")
    assert await code_of(site.action_service.show(other.id, (), ["command"])) == "ACTION-001"
    assert [view.id for view in await site.action_service.list_newest((), kinds=["command"])] == [action.id]


async def test_standing_seal_does_not_outlive_the_token(site: ActionSite, signer: SignerClient) -> None:
    commander = await add_commander(site, signer, timedelta(days=2))
    action = await commander.create("web1", cron="0 * * * *", until=site.now + timedelta(days=7))
    standing = decode_action(await site.row(action.id)).standing
    assert standing is not None
    assert standing.sealed_until == site.now + timedelta(days=2)
