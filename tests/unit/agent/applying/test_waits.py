"""Resources of a job's run that wait for values: the rest goes on, and nothing is held meanwhile."""

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from precast.agent.applying.engine import Engine
from precast.agent.applying.options import RunOptions
from precast.agent.futures.key_states import KeyState
from precast.agent.futures.resolution import Resolution, Sources, resolve
from precast.agent.futures.run_values import RunValues, Wait, Watch
from precast.base.clock import ManualClock
from precast.catalog.futures import Need
from tests.unit.agent.applying.world import RunOutcome, World, body, resource, run

ORDERS = [RunOptions(), RunOptions(is_serial=True), RunOptions(ordering="graph", at_once=1)]
FUTURE = {"__ptype": "Precast::Future", "__pvalue": "db"}
DEADLINE_S = 30


class JobValues(RunValues):
    """A job whose states a test sets while the run goes on."""

    waits = True

    def __init__(self, *states: KeyState, clock: ManualClock | None = None) -> None:
        super().__init__(states, clock or ManualClock())
        self.told: list[tuple[list[str], bool]] = []
        self.ended: list[str] = []
        self.unpromised: dict[str, str] = {}
        self.is_idle = threading.Event()
        self._watch = Watch()

    def resolve(self, needs: Sequence[Need]) -> list[Resolution]:
        return [resolve(need, Sources(list(self._states), in_job=True), self.moment()) for need in needs]

    def set(self, *states: KeyState) -> None:
        self._states = list(states)
        self._watch.wake()

    def watch(self) -> Watch:
        return self._watch

    def note_waits(self, waits: Sequence[Wait], *, is_idle: bool) -> None:
        self.told.append(([wait.ref for wait in waits], is_idle))
        if is_idle:
            self.is_idle.set()

    def give_up(self, ref: str, reason: str) -> None:
        self.ended.append(reason)

    def unpromise(self, key: str, reason: str) -> None:
        self.unpromised[key] = reason


def pending(node: str = "db1") -> KeyState:
    return KeyState("db", node, "pending")


def fulfilled(value: str = "9") -> KeyState:
    return KeyState("db", "db1", "fulfilled", 2, f'"{value}"'.encode())


class Running:
    """A run on a thread of its own."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._outcome: list[RunOutcome] = []
        self._thread = threading.Thread(target=lambda: self._outcome.append(run(*args, **options)))
        self._thread.start()

    def outcome(self) -> RunOutcome:
        self._thread.join(DEADLINE_S)
        return self._outcome[0]


@pytest.mark.parametrize("options", ORDERS)
def test_all_other_work_is_done_before_the_value_comes(options: RunOptions) -> None:
    world, values = World(), JobValues(pending())
    catalog = body(
        resource("cell", "waits", value=FUTURE),
        resource("cell", "after", value="1", require="Cell[waits]"),
        resource("cell", "b", value="1"),
        resource("cell", "c", value="1"),
    )
    running = Running(catalog, world, options, values=values)
    assert values.is_idle.wait(DEADLINE_S)
    assert world.cells == {"b": "1", "c": "1"}
    assert values.told[-1] == (["Cell[waits]"], True)
    values.set(fulfilled())
    outcome = running.outcome()
    assert outcome.is_complete
    assert world.cells == {"b": "1", "c": "1", "waits": "9", "after": "1"}


@pytest.mark.parametrize("options", ORDERS)
def test_refreshes_are_kept_for_a_resource_that_waits(options: RunOptions) -> None:
    values = JobValues(pending())
    catalog = body(
        resource("cell", "a", value="1", notify="Command[c]"),
        resource("command", "c", refreshonly=True, sets={"x": FUTURE}),
    )
    running = Running(catalog, None, options, values=values)
    assert values.is_idle.wait(DEADLINE_S)
    values.set(fulfilled())
    outcome = running.outcome()
    assert outcome.messages("Command[c]") == ["Triggered 'refresh' from 1 event"]
    assert outcome.world.cells["x"] == "9"


@pytest.mark.parametrize("options", ORDERS)
def test_resource_that_waits_holds_no_lock(options: RunOptions) -> None:
    world, values = World(), JobValues(pending())
    catalog = body(resource("locked", "a", sets={"x": FUTURE}), resource("locked", "b", sets={"y": "1"}))
    running = Running(catalog, world, options, values=values)
    assert values.is_idle.wait(DEADLINE_S)
    assert world.cells == {"y": "1"}
    values.set(fulfilled())
    assert running.outcome().statuses() == {"Locked[a]": "changed", "Locked[b]": "changed"}


@pytest.mark.parametrize("options", ORDERS)
def test_failed_producer_fails_the_resource_and_skips_its_dependents(options: RunOptions) -> None:
    values = JobValues(KeyState("db", "db1", "failed", 2, reason="its run failed at Service[postgresql]"))
    catalog = body(resource("cell", "a", value=FUTURE), resource("cell", "b", value="1", require="Cell[a]"))
    outcome = Running(catalog, None, options, values=values).outcome()
    assert outcome.statuses() == {"Cell[a]": "failed", "Cell[b]": "skipped"}
    expected = "there will be no value of db, promised by db1: its run failed at Service[postgresql]"
    assert outcome.messages("Cell[a]") == [expected]
    assert values.ended == [expected]


@pytest.mark.parametrize("options", ORDERS)
def test_resource_whose_value_nobody_promises_is_waiting_and_the_run_ends(options: RunOptions) -> None:
    catalog = body(resource("cell", "a", value=FUTURE), resource("cell", "b", value="1", require="Cell[a]"))
    outcome = Running(catalog, None, options, values=JobValues()).outcome()
    assert outcome.statuses() == {"Cell[a]": "waiting", "Cell[b]": "waiting"}
    assert outcome.is_complete


@pytest.mark.parametrize("options", ORDERS)
def test_deadline_begins_when_only_the_value_is_missing(options: RunOptions) -> None:
    clock = ManualClock()
    values = JobValues(pending(), clock=clock)
    future = {"__ptype": "Precast::Future", "__pvalue": {"key": "db", "timeout_s": 600}}
    running = Running(body(resource("cell", "a", value=future)), None, options, values=values, clock=clock)
    assert values.is_idle.wait(DEADLINE_S)
    clock.advance(599)
    values.set(pending())
    assert values.ended == []
    clock.advance(1)
    outcome = running.outcome()
    assert outcome.statuses() == {"Cell[a]": "failed"}
    assert outcome.messages("Cell[a]") == ["waited 600 s for db, promised by db1"]


@pytest.mark.parametrize("options", ORDERS)
def test_run_that_waits_stops_at_once_when_it_is_asked_to(options: RunOptions) -> None:
    values, engines = JobValues(pending()), list[Engine]()
    catalog = body(resource("cell", "a", value=FUTURE), resource("cell", "b", value="1"))
    running = Running(catalog, None, options, values=values, on_engine=engines.append)
    assert values.is_idle.wait(DEADLINE_S)
    engines[0].stop.set()
    outcome = running.outcome()
    assert not outcome.is_complete
    assert outcome.statuses() == {"Cell[b]": "changed"}


@pytest.mark.parametrize(("data", "text"), [('{"a":[1,true],"b":null}', "v {a => [1, true], b => }"), ('"x"', "v x")])
def test_value_in_a_text_looks_as_in_puppet(data: str, text: str) -> None:
    values = RunValues([KeyState("db", "db1", "fulfilled", value=data.encode(), is_standing=True)])
    value = {"__ptype": "Precast::Text", "__pvalue": ["v ", FUTURE]}
    assert run(body(resource("cell", "a", value=value)), values=values).world.cells == {"a": text}


def test_resource_that_tags_exclude_or_that_is_a_no_op_does_not_wait() -> None:
    catalog = body(resource("cell", "a", value=FUTURE, noop=True), resource("cell", "b", ["x"], value=FUTURE))
    outcome = Running(catalog, None, RunOptions(skip_tags=frozenset(["x"])), values=JobValues(pending())).outcome()
    assert outcome.statuses() == {"Cell[a]": "waiting", "Cell[b]": "skipped"}
    assert Running(catalog, None, RunOptions(is_noop=True), values=JobValues(pending())).outcome().is_complete


@pytest.mark.parametrize("status", ["failed", "skipped"])
def test_promise_that_is_not_fulfilled_is_told(status: str) -> None:
    values = JobValues()
    broken = resource("cell", "a", value="1", breaks=True)
    promise = (
        resource("promise", "k", value="1", require="Cell[a]") if status == "skipped" else resource("promise", "k")
    )
    run(body(broken, promise), None, values=values)
    assert list(values.unpromised) == ["k"]
    assert status in values.unpromised["k"]
