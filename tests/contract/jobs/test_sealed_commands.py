"""Commands with the signer's seal on both databases: any server of the site can drive them, and none can send another."""

import os
from datetime import timedelta

import msgspec
import pytest

from lab.job_engine import ANN, LEASE_S, JobEngine
from precast.agent.catalog.signatures import is_signed
from precast.base.clock import ManualClock
from precast.base.errors import DeniedError
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.local import open_local_signer
from precast.services.identity.signer.messages import Credential, PersonRecord
from precast.services.jobs.sealed_commands import SLACK
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction
from precast.wire.identity import tokens as wire
from precast.wire.jobs.orders import EXEC, SignedExecOrder
from precast.wire.jobs.signed_orders import signed_order_bytes
from precast.wire.jobs.views import JobLimits, NewExecJob
from precast.wire.nodes.bodies import TargetsBody


async def credential_of(role: str, signer: SignerClient, clock: ManualClock) -> Credential:
    secret = wire.PersonSecret("0" * 36, os.urandom(wire.SECRET_BYTES))
    expires_at = clock.now() + timedelta(hours=1)
    record = PersonRecord(secret.id, wire.hash_secret(secret.secret), "ann", role, [], expires_at)
    return Credential(str(secret), record, await signer.seal_person(record, None))


async def signatures(site: JobEngine, files: AuthorityFiles, node: str) -> list[bool]:
    """Whether each command that a node receives is signed by the authority."""
    records = [record for record in await site.orders.read(node, 0, 100) if record.kind == EXEC]
    signed = [msgspec.json.decode(record.body, type=SignedExecOrder) for record in records]
    return [is_signed(files.certificate, signed_order_bytes(order.text), order.signature) for order in signed]


def one_at_a_time(begin_s: float = 300.0, take_s: float = 60.0) -> NewExecJob:
    return NewExecJob(
        TargetsBody(["a,b"]), ["uptime"], JobLimits(at_once="1", begin_s=begin_s, take_s=take_s), why="a test"
    )


async def test_server_that_takes_over_sends_signed_orders_after_the_person_is_gone(
    database: Database,
    other_database: Database,
    authority_files: AuthorityFiles,
    signer: SignerClient,
    clock: ManualClock,
) -> None:
    first, second = (
        JobEngine(database, signer),
        JobEngine(other_database, await open_local_signer(authority_files, clock), "s2"),
    )
    await first.connect("a", "b")
    ann = await credential_of("commands", signer, clock)
    run = (await first.service.command(one_at_a_time(), ANN, ann)).id
    await first.drive()
    clock.advance(LEASE_S + 1)
    await second.connect("a", "b")
    await second.drive()
    await second.carry_out(run, "a")
    await second.drive()
    assert [await signatures(each, authority_files, node) for each in (first, second) for node in "ab"] == [[True]] * 4


async def test_command_without_the_role_is_not_created(
    site: JobEngine, signer: SignerClient, clock: ManualClock
) -> None:
    for role in ("admin", "operator", "viewer"):
        with pytest.raises(DeniedError) as caught:
            await site.service.command(one_at_a_time(), ANN, await credential_of(role, signer, clock))
        assert caught.value.code == "CA-031"
    assert await site.service.newest() == []
    assert [entry for entry in await site.audit.read_latest() if entry.action == "command.run"] == []


async def test_order_that_the_signer_refuses_is_sent_unsigned_and_holds_up_nothing(
    site: JobEngine, authority_files: AuthorityFiles, signer: SignerClient, clock: ManualClock
) -> None:
    ann = await credential_of("commands", signer, clock)
    await site.service.command(NewExecJob(TargetsBody(["a"]), ["uptime"]), ANN, ann)
    await site.drive()
    assert await signatures(site, authority_files, "a") == [True]
    await signer.revoke_token(ann.record.id)
    await site.service.command(NewExecJob(TargetsBody(["a"]), ["id"]), ANN)
    await site.drive()
    assert await signatures(site, authority_files, "a") == [False, True]


async def test_nodes_whose_turn_comes_after_the_seal_has_expired_expire(
    site: JobEngine, authority_files: AuthorityFiles, clock: ManualClock
) -> None:
    run = (await site.service.command(one_at_a_time(begin_s=10.0, take_s=10.0), ANN)).id
    await site.drive()
    (order,) = await site.orders_of("a")
    assert order.expires_at == clock.now() + SLACK + timedelta(seconds=2 * 50)
    await site.carry_out(run, "a")
    clock.advance((SLACK + timedelta(seconds=2 * 50)).total_seconds())
    await site.connect("b")
    await site.drive()
    assert await site.states(run) == {"a": "COMPLETED", "b": "EXPIRED"}
    assert "had to begin before" in (await site.message(run, "b") or "")
    assert await signatures(site, authority_files, "a") == [False], "and no server gets the first order signed again"


async def test_changed_row_of_a_command_gets_no_signature(site: JobEngine, authority_files: AuthorityFiles) -> None:
    run = (await site.service.command(NewExecJob(TargetsBody(["a"]), ["uptime"]), ANN)).id
    job = await site.database.read(site.jobs.find, run)
    assert job is not None
    forged = msgspec.json.decode(job.body)
    forged["argv"] = ["rm", "-rf", "/"]

    def change() -> Transaction[None]:
        query = Query("test.forge", "UPDATE job SET body = :body WHERE id = :run")
        yield query(body=msgspec.json.encode(forged), run=run)

    await site.database.write(change)
    await site.drive()
    (order,) = await site.orders_of("a")
    assert order.argv == ["rm", "-rf", "/"]
    assert await signatures(site, authority_files, "a") == [False]
