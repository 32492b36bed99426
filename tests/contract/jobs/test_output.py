"""The output of commands on both databases: numbered, bounded, stored once and before the end."""

import asyncio
from typing import Any, get_args

import msgspec
import pytest

from lab.job_engine import ANN, JobEngine, order_of
from precast.api.http.routes import NODE
from precast.api.sessions.messages import SessionMessages
from precast.api.sessions.records import declare_order_records
from precast.base.errors import NotFoundError
from precast.services.jobs.records import OrderRecords
from precast.services.jobs.results import OrderReport
from precast.services.sessions.record_intake import RecordSource
from precast.store.engine.lockstep import in_lockstep
from precast.store.engine.query import Transaction
from precast.store.jobs import attempts as store
from precast.wire.jobs.orders import (
    CLAIM,
    EXEC_BEGAN,
    EXEC_ENDED,
    EXEC_OUTPUT,
    Claim,
    ExecBegan,
    ExecEnded,
    ExecOutput,
    OutputLine,
)
from precast.wire.jobs.views import NewExecJob, OutputView, StepView
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.sessions import FromNode, Record


async def test_viewer_gets_each_change_once_in_order_and_output_before_the_end(site: JobEngine) -> None:
    body = NewExecJob(TargetsBody(["a,b"]), ["uptime", "-p"], why="look")
    run = (await site.service.command(body, ANN)).id
    await site.drive()
    (order,) = await site.orders_of("a")
    assert (order.argv, order.timeout_s, order.output_bytes) == (["uptime", "-p"], 60.0, 65_536)
    first = await site.service.changes(run, 0, 0, with_output=True)
    assert [_summarise(change) for change in first.changes] == [("a", "QUEUED"), ("b", "QUEUED")]
    now = site.database.clock.now()
    write = site.database.write
    await site.claim(run, "a", "b")
    await write(site.results.update_from_order, "a", ExecBegan(order_of(run), now))
    await write(
        site.results.update_from_order,
        "a",
        ExecOutput(order_of(run), 0, [OutputLine("out", "up 3 days\0"), OutputLine("err", "hm")]),
    )
    await write(site.results.update_from_order, "a", ExecEnded(order_of(run), now, code=0, lines=2))
    await write(
        site.results.update_from_order, "b", ExecEnded(order_of(run), now, signal=9, is_overdue=True, cut_bytes=7)
    )
    await site.drive()
    seen = await site.service.changes(run, first.after, 0, "exec", with_output=True)
    assert [_summarise(change) for change in seen.changes] == [
        ("a", "up 3 days\0"),
        ("a", "COMPLETED"),
        ("b", "FAILED"),
    ]
    assert (await site.service.changes(run, seen.after, 0)).changes == []
    assert [_summarise(change) for change in (await site.service.changes(run, 0, 0)).changes] == [
        ("a", "COMPLETED"),
        ("b", "FAILED"),
    ]
    assert await site.message(run, "b") == "it took too long and was ended"
    with pytest.raises(NotFoundError):
        await site.service.changes(await site.start("c"), 0, 0, "exec", with_output=True)
    (entry,) = [entry for entry in await site.audit.read_latest() if entry.action == "command.run"]
    assert entry.detail["argv"] == ["uptime", "-p"]


def _summarise(change: StepView | OutputView) -> tuple[str, str]:
    return (change.node, change.state if isinstance(change, StepView) else change.lines[0].text)


async def test_output_is_bounded_and_stored_once(site: JobEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "OUTPUT_BYTES", 30)
    run = (await site.service.command(NewExecJob(TargetsBody(["a"]), ["cat"]), ANN)).id
    await site.drive()
    for first in (0, 0, 1, 2):
        output = ExecOutput(order_of(run), first, [OutputLine("out", "0123456789")])
        await site.database.write(site.results.update_from_order, "a", output)
    await site.drive()
    seen = await site.service.changes(run, 0, 0, with_output=True)
    assert [change.first for change in seen.changes if isinstance(change, OutputView)] == [0, 1]


async def test_output_of_an_attempt_is_bounded_within_one_transaction(
    site: JobEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "OUTPUT_BYTES", 30)
    run = (await site.service.command(NewExecJob(TargetsBody(["a,b"]), ["cat"]), ANN)).id
    await site.drive()
    lines = msgspec.json.encode([OutputLine("out", "0123456789")])

    def add(node: str, first: int) -> Transaction[None]:
        yield from site.attempts.add_output(store.AttemptKey(run, 1, node, 1), first, lines)

    order = [("a", 0), ("b", 5), ("a", 1), ("a", 2), ("b", 4), ("a", 3), ("b", 6)]
    await site.database.write(lambda: in_lockstep([add(node, first) for node, first in order]))
    await site.drive()
    seen = await site.service.changes(run, 0, 0, with_output=True)
    found = [(change.node, change.first) for change in seen.changes if isinstance(change, OutputView)]
    assert sorted(found) == [("a", 0), ("a", 1), ("b", 5), ("b", 6)], "a record before the last is dropped"


async def test_output_is_stored_even_if_another_command_ends_at_the_same_time(site: JobEngine) -> None:
    run = (await site.service.command(NewExecJob(TargetsBody(["a,b"]), ["uptime"]), ANN)).id
    await site.drive()
    messages, now = SessionMessages(dict.fromkeys(get_args(FromNode), NODE)), site.database.clock.now()
    declare_order_records(messages, OrderRecords(site.results))
    claimed: tuple[str, OrderReport] = (CLAIM, Claim(order_of(run), 1, "store", "boot"))
    ended: tuple[str, OrderReport] = (EXEC_ENDED, ExecEnded(order_of(run), now, code=0, lines=1))
    sent: dict[str, list[tuple[str, OrderReport]]] = {
        "b": [claimed, ended],
        "a": [
            claimed,
            (EXEC_BEGAN, ExecBegan(order_of(run), now)),
            (EXEC_OUTPUT, ExecOutput(order_of(run), 0, [OutputLine("out", "up")])),
            ended,
        ],
    }
    promises: list[asyncio.Future[Any]] = []
    for node, reports in sent.items():
        records = [
            Record(number, kind, now, msgspec.Raw(msgspec.json.encode(body)))
            for number, (kind, body) in enumerate(reports, 1)
        ]
        promises.append(asyncio.get_running_loop().create_future())
        site.records.submit(RecordSource((node, "store"), 1, None), records, messages.kinds, promises[-1])
    assert [taken.position.received for taken in await asyncio.gather(*promises)] == [2, 4]
    await site.drive()
    seen = await site.service.changes(run, 0, 0, with_output=True)
    assert [_summarise(change) for change in seen.changes] == [("a", "up"), ("a", "COMPLETED"), ("b", "COMPLETED")]
