"""Compares the agent's spool with a simple model, over random sequences of puts, sends, acknowledgements, losses, crashes and welcomes."""

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from precast.agent.state.spool import Importance, Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.base.clock import ManualClock
from precast.wire.sessions import FACTS, LOSS, LossBody, Record

LIMITS = SpoolLimits(records=7, bytes=3000)
HORIZON_S = 60.0
SEEN: Counter[str] = Counter()
# Thousands of stores are made in memory; crashes of the disk are tested elsewhere.
MEMORY = Path("/dev/shm")


@dataclass
class ModelRecord:
    """A record of the model."""

    kind: str
    importance: int
    text: str
    order: int
    acked_s: float | None = None
    losses: Counter[str] = field(default_factory=Counter)


class SpoolMachine(RuleBasedStateMachine):
    """Compares the content of the spool after every step, and checks that a number always stands for the same record."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.directory = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.ids = count(1)
        self.open()
        self.unsent: list[ModelRecord] = []
        self.numbered: dict[int, ModelRecord] = {}
        self.given = 0
        self.orders = count(1)
        self.horizon = 0.0
        # The text that was sent under each number: a number always stands for the same record.
        self.sent: dict[int, str] = {}

    def open(self) -> None:
        self.store = LocalStore.open(Path(self.directory.name), lambda: f"instance-{next(self.ids)}", self.clock)
        self.spool = Spool(self.store, LIMITS)
        # A spool trusts the ages of records only after a horizon in which it has seen the clock run steadily.
        self.steady_since_s = self.clock.monotonic_s()

    @rule(
        kind=st.sampled_from(["event", "result"]),
        importance=st.sampled_from(list(Importance)),
        length=st.integers(2, 900),
    )
    def put(self, kind: str, importance: Importance, length: int) -> None:
        order = next(self.orders)
        text = f'"{order}{"x" * length}"'
        self.spool.put(kind, text.encode(), importance)
        self.unsent.append(ModelRecord(kind, importance, text, order))
        self.make_room()

    @rule()
    def put_facts(self) -> None:
        order = next(self.orders)
        text = f'{{"digest":"{order}","volatile":{{}},"stable":{{}}}}'
        self.spool.put(FACTS, text.encode(), Importance.ROUTINE, supersedes=True)
        self.unsent = [entry for entry in self.unsent if entry.kind != FACTS] + [ModelRecord(FACTS, 10, text, order)]
        self.make_room()

    def make_room(self) -> None:
        while self.is_over():
            acked = [number for number, entry in self.numbered.items() if entry.acked_s is not None]
            if acked:
                del self.numbered[min(acked)]
                SEEN["acknowledged removed for room"] += 1
                continue
            free = [entry for entry in self.unsent if entry.kind != LOSS]
            if not free:
                return
            lost = min(free, key=lambda entry: (entry.importance, entry.order))
            self.unsent.remove(lost)
            SEEN["lost"] += 1
            known = [entry for entry in self.unsent if entry.kind == LOSS and lost.kind in entry.losses]
            if not known:
                self.unsent.append(ModelRecord(LOSS, 30, "", next(self.orders)))
            (known or self.unsent[-1:])[0].losses[lost.kind] += 1

    def is_over(self) -> bool:
        entries = [*self.numbered.values(), *self.unsent]
        # The size of a loss record follows from its body, which only the spool writes.
        size = sum(len(entry.text) + 100 for entry in entries if entry.kind != LOSS) + self.loss_bytes(entries)
        return len(entries) > LIMITS.records or size > LIMITS.bytes

    def loss_bytes(self, entries: list[ModelRecord]) -> int:
        now = self.clock.now()
        return sum(
            len(msgspec.json.encode(LossBody(kind, number, now, now))) + 100
            for entry in entries
            for kind, number in entry.losses.items()
        )

    @rule(records=st.integers(1, 4), size_bytes=st.sampled_from([1, 500, 100_000]), again=st.integers(0, 3))
    def send(self, records: int, size_bytes: int, again: int) -> None:
        first = min(self.numbered, default=self.given + 1)
        after = max(first - 1, self.given - again)
        batch = self.spool.next_batch(after, records, size_bytes)
        if after == self.given and batch:
            for _ in batch:
                self.given += 1
                self.numbered[self.given] = self.unsent.pop(0)
        assert [record.number for record in batch] == list(range(after + 1, after + 1 + len(batch)))
        assert bool(batch) == (after < self.given)
        for record in batch:
            assert self.is_same(record, self.numbered[record.number])
            assert self.sent.setdefault(record.number, bytes(record.body).decode()) == bytes(record.body).decode()

    @staticmethod
    def is_same(record: Record, entry: ModelRecord) -> bool:
        if record.kind == LOSS:
            body = msgspec.json.decode(record.body, type=LossBody)
            return entry.losses == Counter({body.kind: body.count})
        return (record.kind, bytes(record.body).decode()) == (entry.kind, entry.text)

    @precondition(lambda self: self.numbered)
    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        through = data.draw(st.integers(0, self.given))
        self.spool.acknowledge(through)
        now = self.clock.monotonic_s()
        is_steady = now - self.steady_since_s >= self.horizon
        for number, entry in list(self.numbered.items()):
            if number <= through and entry.acked_s is None:
                entry.acked_s = now
            if is_steady and entry.acked_s is not None and entry.acked_s < now - self.horizon:
                del self.numbered[number]
                SEEN["past the horizon"] += 1
        self.make_room()

    @rule(data=st.data())
    def welcome(self, data: st.DataObject) -> None:
        received = data.draw(st.integers(0, self.given + 2))
        begins = self.spool.begin_session("a", 1, received, HORIZON_S, "")
        self.horizon = HORIZON_S
        SEEN["a server that has lost records"] += any(
            number > received and entry.acked_s is not None for number, entry in self.numbered.items()
        )
        if received > self.given:
            self.given, self.numbered = received, {}
        for number, entry in self.numbered.items():
            if number <= received and entry.acked_s is None:
                entry.acked_s = self.clock.monotonic_s()
            elif number > received:
                entry.acked_s = None
        self.make_room()
        assert begins == max(received, min(self.numbered, default=self.given + 1) - 1)

    @rule(seconds=st.sampled_from([1.0, 50.0, 100.0]))
    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def crash(self) -> None:
        instance = self.store.session_state().instance
        self.store.close()
        self.open()
        assert self.store.session_state().instance == instance

    @invariant()
    def equals_the_model(self) -> None:
        SEEN["steps"] += 1
        numbers = sorted(self.numbered)
        rows = self.store.read("SELECT number, kind, body, acked_at FROM record ORDER BY number IS NULL, number, id")
        expected = [(number, self.numbered[number]) for number in numbers] + [(None, entry) for entry in self.unsent]
        assert [(number, kind, acked is not None) for number, kind, _, acked in rows] == [
            (number, entry.kind, entry.acked_s is not None) for number, entry in expected
        ]
        for (_, kind, body, _), (_, entry) in zip(rows, expected, strict=True):
            if kind == LOSS:
                loss = msgspec.json.decode(body, type=LossBody)
                assert entry.losses == Counter({loss.kind: loss.count})
            else:
                assert body.decode() == entry.text
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True, "a gap"
        assert self.spool.number_range() == (numbers[0] if numbers else self.given + 1, self.given)

    @invariant()
    def is_bounded(self) -> None:
        ((records, size_bytes),) = self.store.read("SELECT records, bytes FROM session")
        assert (records, size_bytes) == self.store.read("SELECT count(*), coalesce(sum(size), 0) FROM record")[0]
        droppable = [entry for entry in self.unsent if entry.kind != LOSS]
        acked = [entry for entry in self.numbered.values() if entry.acked_s is not None]
        assert not self.is_over() or not (droppable or acked)

    def teardown(self) -> None:
        self.store.close()
        self.directory.cleanup()


def explore(examples: int) -> None:
    SEEN.clear()
    run_state_machine_as_test(
        SpoolMachine, settings=settings(max_examples=examples, stateful_step_count=50, deadline=None)
    )
    print(f"\nspool: {dict(SEEN)}")
    assert SEEN["steps"] > examples
    assert SEEN["lost"] > 0  # in every second step something is put into a spool for seven


def test_spool_equals_its_model() -> None:
    explore(100)
