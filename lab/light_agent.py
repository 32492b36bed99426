"""What a light agent does with orders: everything that a real one does, but the work itself.

An order is stored, claimed, begun when its claim is granted, and answered, with the records that a real agent sends, in the same order.
Each step is written to the agent's own file, which is opened for synchronous writes, before the next step: the order, the claim, the
grant, that it began, and the result; five flushes for each order. A real agent has a SQLite file instead, and two more flushes for the
numbers that it has sent and that the server has acknowledged. The work is replaced: the result of an order is a proof of the challenge in
its command and the agent's own nonce, which is in the file `nonce` of the node's directory. A task of a plan passes all of its phases.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from lab.session import Store
from precast.wire import sessions as session
from precast.wire.jobs import orders
from precast.wire.jobs.orders import (
    Claim,
    ExecBegan,
    ExecEnded,
    ExecOutput,
    Grant,
    OrderEnded,
    OutputLine,
    TaskEnded,
    TaskPhase,
)
from precast.wire.jobs.programs import Phase, parse_program
from precast.wire.sessions import Ack, Message, Record, Welcome

Send = Callable[[Message], Awaitable[None]]

PLAIN_KINDS = (orders.REFRESH_FACTS, orders.RESTART_AGENT, orders.REBOOT)


def prove(nonce: str, node: str, challenge: str) -> str:
    """The result of a node's work: only the agent with this nonce knows it, and only for this challenge."""
    return hashlib.sha256(f"{nonce} {node} {challenge}".encode()).hexdigest()


class LightAgent:
    """One agent over all of its connections. `store` is the state of its session."""

    def __init__(self, directory: Path) -> None:
        self.node = directory.name
        self.store = Store()
        self.results = 0
        self._nonce = secrets.token_hex(8)
        (directory / "nonce").write_text(self._nonce)
        self._file = os.open(directory / "orders", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_DSYNC, 0o600)
        # The kind of each order that was not begun, and its challenge; of a task, its document.
        self._challenges: dict[str, tuple[str, str]] = {}
        self._claims: dict[str, int] = {}

    async def resume(self, welcome: Welcome, send: Send) -> None:
        """Begin a session: send what the server does not have, and claim again what was not begun."""
        self.acknowledge(welcome.received)
        for record in list(self.store.records):
            await send(record)
        for order in list(self._challenges):
            await self._claim(order, send)

    def acknowledge(self, through: int) -> None:
        self.store.records = [record for record in self.store.records if record.number > through]

    async def receive(self, record: Record, send: Send) -> None:
        """Store a record of the server, acknowledge it, and do what it asks for."""
        if record.number <= self.store.received:
            await send(Ack(self.store.received))
            return
        self._flush(record)
        self.store.received = record.number
        await send(Ack(record.number))
        if record.kind == orders.EXEC:
            signed = msgspec.json.decode(record.body, type=orders.SignedExecOrder)
            argv = msgspec.json.decode(signed.text, type=orders.ExecOrder).argv
            await self._add(record.kind, signed.order, " ".join(argv[1:]), send)
        elif record.kind == orders.TASK:
            task = msgspec.json.decode(record.body, type=orders.SignedTaskOrder)
            await self._add(record.kind, task.order, task.text, send)
        elif record.kind in PLAIN_KINDS:
            plain = msgspec.json.decode(record.body, type=orders.PlainOrder)
            await self._add(record.kind, plain.order, plain.order, send)
        elif record.kind == orders.GRANT:
            await self._follow(msgspec.json.decode(record.body, type=Grant), send)

    async def _add(self, kind: str, order: str, challenge: str, send: Send) -> None:
        self._challenges[order] = (kind, challenge)
        await self._claim(order, send)

    async def _claim(self, order: str, send: Send) -> None:
        self._claims[order] = self._claims.get(order, 0) + 1
        claim = Claim(order, self._claims[order], self.store.instance, self.store.boot_id)
        await self._answer([(orders.CLAIM, claim)], send)

    async def _follow(self, grant: Grant, send: Send) -> None:
        """Work, if the grant answers the latest claim of an order that was not begun."""
        if self._claims.get(grant.order) != grant.claim or grant.order not in self._challenges:
            return
        kind, challenge = self._challenges.pop(grant.order)
        if not grant.is_granted:
            return
        proof = prove(self._nonce, self.node, challenge)
        if kind == orders.EXEC:
            await self._answer([(orders.EXEC_BEGAN, ExecBegan(grant.order, _now()))], send)
            # `prove COUNT CHALLENGE` returns the proof in as many records.
            count = int(challenge.split()[0]) if " " in challenge else 1
            outputs = [ExecOutput(grant.order, number, [OutputLine("out", proof)]) for number in range(count)]
            ended = ExecEnded(grant.order, _now(), code=0, lines=count)
            await self._answer([*((orders.EXEC_OUTPUT, each) for each in outputs), (orders.EXEC_ENDED, ended)], send)
        elif kind == orders.TASK:
            await self._carry_out(grant.order, challenge, send)
        else:
            # A real agent notes in its store that it began, and tells nobody.
            self._flush(Record(self.store.last + 1, "begun", _now(), msgspec.Raw(msgspec.json.encode(grant.order))))
            ended_order = OrderEnded(grant.order, True, _now(), result=json.dumps({"proof": proof}))
            await self._answer([(orders.ORDER_ENDED, ended_order)], send)
        self.results += 1

    async def _carry_out(self, order: str, text: str, send: Send) -> None:
        """Pass each phase of a task, with a flush for each as a real agent has it."""
        program = parse_program(msgspec.json.decode(text, type=orders.TaskOrder).program)
        phases: list[Phase] = ["task"]
        if program.before:
            phases.insert(0, "pre-test")
        if program.after:
            phases.append("post-test")
        for phase in phases:
            await self._answer([(orders.TASK_PHASE, TaskPhase(order, phase, _now()))], send)
        await self._answer([(orders.TASK_ENDED, TaskEnded(order, _now(), True, phases[-1]))], send)

    async def _answer(self, bodies: list[tuple[str, msgspec.Struct]], send: Send) -> None:
        """Store records with one flush, then send them."""
        records = []
        for kind, body in bodies:
            self.store.last += 1
            records.append(Record(self.store.last, kind, _now(), msgspec.Raw(msgspec.json.encode(body))))
        self._flush(*records)
        self.store.records.extend(records)
        for record in records:
            await send(record)

    def _flush(self, *records: Record) -> None:
        os.write(self._file, b"".join(session.encode(record) + b"\n" for record in records))


def _now() -> datetime:
    return datetime.now(UTC)
