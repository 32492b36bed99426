"""The work queue against a model, as a state machine over two servers, on both databases.

The model is a dictionary and a few lines of arithmetic. Every answer of the queue must equal the model's: so no item is lost,
none is owned twice, and the order is the fair one. At the end of each run a patient worker drains the queue: nothing may be
left, so nothing starves.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from lab.postgres import PostgresServer
from precast.base.clock import ManualClock, to_micros
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation
from precast.store.engine.query import Query, Transaction
from precast.store.queue.kinds import LANE_STEPS, Claim, Failure, WorkKind
from precast.store.queue.queue import WorkQueue
from precast.store.schema.schema import Schema

KIND = WorkKind("k", max_attempts=3, max_dead=2, pause_first_s=2, pause_cap_s=20)
KEYS = st.sampled_from(["a", "b", "c", "d", "e", "f"])
LANES = st.sampled_from(["", "busy"])
STEP = {"steps": 0, "examples": 0}


@dataclass
class Item:
    """What the model knows of an item; times in microseconds."""

    lane: str
    payload: bytes
    turn: int
    due: int
    ready: int
    queued: int
    generation: int = 1
    attempts: int = 0
    owner: str | None = None
    fence: int = 0
    claimed: int = 0


class Model:
    """The queue as its documentation describes it."""

    def __init__(self) -> None:
        self.items: dict[str, Item] = {}
        self.dead: dict[str, tuple[str, bytes]] = {}
        self.last_fence = 0

    def enqueue(self, key: str, payload: bytes, lane: str, due: int, now: int) -> bool:
        if (item := self.items.get(key)) is None:
            held = [other.turn for other in self.items.values() if other.owner is not None]
            waiting = [other.turn for other in self.items.values()]
            place = max(held) if held else min(waiting, default=0)
            turns = [other.turn + LANE_STEPS for other in self.items.values() if other.lane == lane]
            self.items[key] = Item(lane, payload, max([place + 1, *turns]), due, due, now)
            return True
        item.payload, item.generation = payload, item.generation + 1
        if item.owner is None:
            item.due, item.ready, item.attempts = min(item.due, due), min(item.ready, due), 0
        else:
            item.due = due
        return False

    def claim(self, owner: str, fence: int, limit: int, until: int, now: int) -> list[tuple[str, bytes, int]]:
        ready = sorted((item.turn, item.queued, key) for key, item in self.items.items() if item.ready <= now)[:limit]
        taken = []
        for _, _, key in ready:
            item = self.items[key]
            item.owner, item.fence, item.claimed, item.ready = owner, fence, item.generation, until
            item.attempts += 1
            if item.attempts <= KIND.max_attempts:
                taken.append((key, item.payload, item.attempts))
            else:
                self.bury(key, now)
        return taken

    def held(self, claim: Claim) -> Item | None:
        item = self.items.get(claim.key)
        return item if item and (item.owner, item.fence) == (claim.owner, claim.fence) else None

    def complete(self, claim: Claim, now: int) -> bool:
        if (item := self.held(claim)) is None:
            return False
        self.dead.pop(claim.key, None)
        if item.generation == item.claimed:
            del self.items[claim.key]
        else:
            item.owner, item.attempts, item.ready, item.queued = None, 0, item.due, now
            item.turn += LANE_STEPS
        return True

    def fail(self, claim: Claim, now: int) -> Failure:
        if (item := self.held(claim)) is None:
            return Failure.LOST
        if item.attempts >= KIND.max_attempts and item.generation == item.claimed:
            return self.bury(claim.key, now)
        pause = round(KIND.pause_s(claim.key, claim.attempt) * 1_000_000)
        item.attempts = item.attempts if item.generation == item.claimed else 0
        item.owner, item.ready = None, max(item.due, now + pause)
        return Failure.RETRIED

    def bury(self, key: str, now: int) -> Failure:
        item = self.items[key]
        if len(self.dead.keys() - {key}) < KIND.max_dead:
            self.dead[key] = (item.lane, item.payload)
            del self.items[key]
            return Failure.DEAD
        item.owner, item.ready = None, now + round(KIND.pause_cap_s * 1_000_000)
        item.attempts = KIND.max_attempts - 1
        return Failure.RETRIED

    def requeue(self, key: str, now: int) -> bool:
        lane, payload = self.dead.pop(key)
        return key not in self.items and self.enqueue(key, payload, lane, now, now)


class QueueMachine(RuleBasedStateMachine):
    """Two servers, three workers, six keys, one clock."""

    def __init__(self, databases: list[Database], clock: ManualClock, run: Callable[..., Any]) -> None:
        super().__init__()
        STEP["examples"] += 1
        self.run, self.clock, self.model = run, clock, Model()
        run(databases[0].write(_wipe))
        self.queues = [WorkQueue(database, [KIND]) for database in databases]
        self.claims: list[Claim] = []
        self.payloads = 0

    @property
    def now(self) -> int:
        return to_micros(self.clock.now())

    @rule(server=st.integers(0, 1), key=KEYS, lane=LANES, later_s=st.sampled_from([0, 0, 0, 5]))
    def enqueue(self, server: int, key: str, lane: str, later_s: int) -> None:
        self.payloads += 1
        payload = str(self.payloads).encode()
        due = self.clock.now() + timedelta(seconds=later_s)
        is_new = self.run(self.queues[server].enqueue("k", key, payload, lane=lane, due_at=due))
        assert is_new == self.model.enqueue(key, payload, lane, to_micros(due), self.now)

    @rule(
        server=st.integers(0, 1),
        owner=st.sampled_from("xyz"),
        limit=st.integers(1, 4),
        lease_s=st.sampled_from([1, 10]),
    )
    def claim(self, server: int, owner: str, limit: int, lease_s: int) -> None:
        claims = self.run(self.queues[server].claim("k", owner, limit=limit, lease_s=lease_s))
        fence = claims[0].fence if claims else self.model.last_fence + 1
        assert fence > self.model.last_fence
        until = self.now + lease_s * 1_000_000
        expected = self.model.claim(owner, fence, limit, until, self.now)
        assert [(claim.key, claim.payload, claim.attempt) for claim in claims] == expected
        self.model.last_fence = fence if claims else self.model.last_fence
        self.claims += claims

    @rule(server=st.integers(0, 1), data=st.data())
    def complete(self, server: int, data: st.DataObject) -> None:
        if self.claims:
            claim = data.draw(st.sampled_from(self.claims))
            assert self.run(self.queues[server].complete(claim)) == self.model.complete(claim, self.now)

    @rule(server=st.integers(0, 1), data=st.data())
    def fail(self, server: int, data: st.DataObject) -> None:
        if self.claims:
            claim = data.draw(st.sampled_from(self.claims))
            assert self.run(self.queues[server].fail(claim, "no")) is self.model.fail(claim, self.now)

    @rule(server=st.integers(0, 1), data=st.data())
    def extend(self, server: int, data: st.DataObject) -> None:
        if self.claims:
            claim = data.draw(st.sampled_from(self.claims))
            item = self.model.held(claim)
            assert self.run(self.queues[server].extend(claim, 10)) == (item is not None)
            if item is not None:
                item.ready = self.now + 10_000_000

    @rule(server=st.integers(0, 1), data=st.data())
    def give_back(self, server: int, data: st.DataObject) -> None:
        if self.claims:
            claim = data.draw(st.sampled_from(self.claims))
            item = self.model.held(claim)
            assert self.run(self.queues[server].give_back(claim)) == (item is not None)
            if item is not None:
                item.owner, item.attempts, item.ready = None, item.attempts - 1, item.due

    @rule(data=st.data())
    def requeue(self, data: st.DataObject) -> None:
        if self.model.dead:
            key = data.draw(st.sampled_from(sorted(self.model.dead)))
            assert self.run(self.queues[0].requeue("k", key)) == self.model.requeue(key, self.now)

    @rule(seconds=st.sampled_from([0.1, 1, 3, 30]))
    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @invariant()
    def equals_the_model(self) -> None:
        STEP["steps"] += 1
        items = {item.key: (item.lane, item.attempts, item.owner) for item in self.run(self.queues[0].list_waiting())}
        assert items == {key: (item.lane, item.attempts, item.owner) for key, item in self.model.items.items()}
        dead = {letter.key: (letter.lane, letter.payload) for letter in self.run(self.queues[1].list_dead())}
        assert dead == self.model.dead
        current = [claim for claim in set(map(_identity, self.claims)) if self._is_current(claim)]
        assert len({key for key, _, _ in current}) == len(current), "an item with two owners"

    def _is_current(self, identity: tuple[str, str, int]) -> bool:
        key, owner, fence = identity
        item = self.model.items.get(key)
        return item is not None and (item.owner, item.fence) == (owner, fence)

    def teardown(self) -> None:
        """A patient worker ends everything: what was asked for is done with its newest payload, or is dead."""
        wanted = {key: replace(item) for key, item in self.model.items.items()}
        buried = {letter.key for letter in self.run(self.queues[0].list_dead())}
        done: dict[str, bytes] = {}
        rounds = 0
        while self.run(self.queues[0].list_waiting()):
            rounds += 1
            assert rounds <= 4 + len(wanted), "something starves"
            self.clock.advance(30)
            for claim in self.run(self.queues[1].claim("k", "patient", limit=1000, lease_s=60)):
                assert self.run(self.queues[1].complete(claim))
                done[claim.key] = claim.payload
        buried = {letter.key for letter in self.run(self.queues[0].list_dead())} | buried
        for key, item in wanted.items():
            assert done.get(key) == item.payload or key in buried, f"{key} was lost"


def _identity(claim: Claim) -> tuple[str, str, int]:
    return claim.key, claim.owner, claim.fence


def _wipe() -> Transaction[None]:
    yield Query("test.wipe_items", "DELETE FROM work_item")()
    yield Query("test.wipe_dead", "DELETE FROM work_dead")()


@contextmanager
def machines(location: Location) -> Iterator[Callable[[], QueueMachine]]:
    """A factory of machines over two servers on one database."""
    with asyncio.Runner() as runner:
        clock = ManualClock()
        databases = [runner.run(connect(location, may_create=True, clock=clock)) for _ in range(2)]
        runner.run(Schema(databases[0]).expand())
        yield partial(QueueMachine, databases, clock, runner.run)
        for database in databases:
            runner.run(database.close())


def explore(location: Location, examples: int, name: str) -> None:
    STEP.update(steps=0, examples=0)
    with machines(location) as factory:
        run_state_machine_as_test(
            cast("type[QueueMachine]", factory),  # anything that makes one when called will do
            settings=settings(max_examples=examples, stateful_step_count=40, deadline=None),
        )
    print(f"\nwork queue on {name}: {STEP['examples']} runs, {STEP['steps']} steps equal to the model")
    assert STEP["steps"] > examples


@pytest.mark.timeout(300)
def test_queue_on_sqlite_equals_its_model(tmp_path: Path) -> None:
    explore(SqliteLocation(tmp_path / "queue.db"), 100, "SQLite")


@pytest.mark.timeout(300)
def test_queue_on_postgresql_equals_its_model(postgres: PostgresServer) -> None:
    explore(PostgresLocation(postgres.url(postgres.create_database())), 50, "PostgreSQL")


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_queue_on_sqlite_equals_its_model_for_long(tmp_path: Path) -> None:
    explore(SqliteLocation(tmp_path / "queue.db"), 1000, "SQLite")


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_queue_on_postgresql_equals_its_model_for_long(postgres: PostgresServer) -> None:
    explore(PostgresLocation(postgres.url(postgres.create_database())), 500, "PostgreSQL")
