"""The values of a run in the local store: a promise and its record are one transaction, and expired values stay so."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from precast.agent.applying.lease import lease_held
from precast.agent.futures import value_tables as tables
from precast.agent.futures.key_states import KeyState
from precast.agent.futures.resolution import Known, Unavailable
from precast.agent.futures.run_values import Fulfilment
from precast.agent.futures.stored_values import RunIdentity, StoredRunValues
from precast.agent.identity.machine import read_boot_id
from precast.agent.state.spool import SpoolLimits
from precast.agent.state.store import LocalStore
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.catalog.futures import Need
from precast.wire.futures import BOUND, PROMISED, UNPROMISED, Promised

CATALOG = "c" * 64
NEED = Need("k")


class Node:
    """A node whose runs are this test's."""

    def __init__(self, root: Path) -> None:
        self.root, self.clock = root, ManualClock()

    def open(self) -> LocalStore:
        return LocalStore.open(self.root, lambda: "machine-1", self.clock)

    def values(self, attempt: str = "", fence: int = 0, **options: Any) -> StoredRunValues:
        run = RunIdentity(CATALOG, "web1", attempt, "00000000-0000-7000-8000-000000000000", fence, **options)
        return StoredRunValues(self.open, run, SpoolLimits())

    def records(self, kind: str) -> list[Any]:
        with closing(self.open()) as store:
            rows = store.read("SELECT body FROM record WHERE kind = ? ORDER BY id", (kind,))
        return [msgspec.json.decode(body) for (body,) in rows]

    def receive(self, *states: KeyState, attempt: str = "", is_whole: bool = True) -> None:
        with closing(self.open()) as store, store.transaction() as db:
            tables.add_subscription(db, attempt, CATALOG)
            tables.begin_round(db, attempt)
            subscription = tables.Subscription(
                attempt, CATALOG, db.execute("SELECT max(round) FROM subscription").fetchone()[0]
            )
            tables.receive_states(db, subscription, states)
            if is_whole:
                tables.end_answer(db, subscription, "")

    def standing(self, number: int = 1, ttl_s: float | None = None) -> KeyState:
        expires_at = None if ttl_s is None else self.clock.now() + timedelta(seconds=ttl_s)
        received_s, boot_id = self.clock.monotonic_s(), read_boot_id()
        return KeyState(
            "k", "db1", "fulfilled", number, b"1", False, expires_at, ttl_s, received_s, boot_id, is_standing=True
        )


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_promise_is_told_in_every_run_and_stored(node: Node) -> None:
    for _ in range(2):
        node.values().fulfil(Fulfilment("k", {"port": 5432}, ttl_s=60))
    first, second = [msgspec.json.decode(msgspec.json.encode(each), type=Promised) for each in node.records(PROMISED)]
    assert (first.key, first.ttl_s, first.order) == ("k", 60, "")
    assert first.instance == "machine-1"
    assert node.records(PROMISED)[1]["value"] == {"port": 5432}
    assert second.key == "k"
    assert node.values().has_promised("k", {"port": 5432})


def test_attempt_that_is_repeated_after_a_kill_tells_its_promise_once(node: Node) -> None:
    for _ in range(2):
        node.values("job.1").fulfil(Fulfilment("k", 1))
    assert len(node.records(PROMISED)) == 1
    node.values("job.2").fulfil(Fulfilment("k", 1))
    assert len(node.records(PROMISED)) == 2


def test_run_that_has_lost_its_lease_promises_nothing(node: Node) -> None:
    with closing(node.open()) as store, lease_held(store, "me") as lease:
        old = node.values(fence=lease.token)
        with store.transaction() as db:
            db.execute("UPDATE run_lease SET token = token + 1")
        with pytest.raises(PrecastError, match="another run has begun"):
            old.fulfil(Fulfilment("k", 1))
    assert node.records(PROMISED) == []
    assert not node.values().has_promised("k", 1)


def test_secret_that_is_promised_is_in_its_record_only(node: Node) -> None:
    node.values().fulfil(Fulfilment("k", "hunter2hunter2", is_secret=True))
    assert node.records(PROMISED)[0]["is_sensitive"] is True
    with closing(node.open()) as store:
        assert b"hunter2" not in store.read("SELECT value FROM promise")[0][0]
    assert node.values().has_promised("k", "hunter2hunter2")
    assert not node.values().has_promised("k", "other")
    assert node.values().last_promised("k", "unknown") == "unknown"


@pytest.mark.parametrize("value", [b"binary", {"__ptype": "Deferred"}, [{"a": {"__ptype": 1}}], "x" * 70_000])
def test_value_that_cannot_travel_is_refused_before_anything_is_stored(node: Node, value: Any) -> None:
    with pytest.raises(PrecastError) as caught:
        node.values().fulfil(Fulfilment("k", value))
    assert caught.value.code == "APPLY-010"
    assert node.records(PROMISED) == []


def test_no_op_run_of_a_job_says_that_it_fulfils_nothing(node: Node) -> None:
    node.values("job.1", is_noop=True).begin(["k"], {}, has_waits=False)
    assert [(record["key"], record["reason"]) for record in node.records(UNPROMISED)] == [("k", "its run is a no-op")]


def test_promise_that_may_be_tried_again_is_not_given_up(node: Node) -> None:
    node.values("job.1", is_last_try=False).unpromise("k", "it failed")
    assert node.records(UNPROMISED) == []
    values = node.values("job.1")
    values.unpromise("k", "it failed")
    values.unpromise("k", "it failed")
    assert len(node.records(UNPROMISED)) == 1


def test_value_that_was_found_expired_stays_so_until_it_is_sent_again(node: Node) -> None:
    node.receive(node.standing(ttl_s=60))
    assert isinstance(node.values().resolve([NEED])[0], Known)
    node.clock.set_ahead(3600)
    assert isinstance(node.values().resolve([NEED])[0], Unavailable)
    node.clock.set_back(3600)
    assert isinstance(node.values().resolve([NEED])[0], Unavailable)
    node.receive(node.standing(ttl_s=60))
    assert isinstance(node.values().resolve([NEED])[0], Known)


def test_older_message_replaces_no_newer_state(node: Node) -> None:
    node.receive(node.standing(number=2))
    node.receive(msgspec.structs.replace(node.standing(number=1), value=b"7"), is_whole=False)
    (found,) = node.values().resolve([NEED])
    assert isinstance(found, Known)
    assert (found.states[0].number, found.states[0].value) == (2, b"1")


def test_state_that_the_whole_answer_does_not_name_has_ended(node: Node) -> None:
    node.receive(node.standing())
    node.receive()
    assert isinstance(node.values().resolve([NEED])[0], Unavailable)


def test_value_that_was_bound_last_is_used_when_nothing_else_is_there(node: Node) -> None:
    node.receive(node.standing(ttl_s=60))
    values = node.values()
    (known,) = values.resolve([NEED])
    assert isinstance(known, Known)
    values.bind("File[/a]", {NEED: known})
    node.receive()
    assert isinstance(node.values().resolve([NEED])[0], Known)
    node.clock.advance(60)
    assert isinstance(node.values().resolve([NEED])[0], Unavailable)


def test_no_op_run_binds_and_remembers_nothing(node: Node) -> None:
    node.receive(node.standing())
    values = node.values("job.1", is_noop=True)
    (known,) = values.resolve([NEED])
    assert isinstance(known, Known)
    values.bind("File[/a]", {NEED: known})
    node.receive()
    assert isinstance(node.values().resolve([NEED])[0], Unavailable)
    assert node.records(BOUND) == []


def test_job_tells_what_its_resources_were_given_and_leaves_no_values_behind(node: Node) -> None:
    values = node.values("job.1")
    values.begin([], {}, has_waits=True)
    node.receive(msgspec.structs.replace(node.standing(number=7), is_standing=False), attempt="job.1")
    (known,) = values.resolve([NEED])
    assert isinstance(known, Known)
    values.bind("File[/a]", {NEED: known})
    (bound,) = node.records(BOUND)
    assert bound["bindings"] == [{"key": "k", "node": "db1", "number": 7}]
    values.end()
    with closing(node.open()) as store:
        assert tables.read_states(store, "job.1") == []
        assert tables.read_subscriptions(store) == []
