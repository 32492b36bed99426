"""The registry of orders: a new kind is one class, and records that this agent cannot use are only counted."""

import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from precast.agent.orders.collect_orders import CollectOrders
from precast.agent.orders.registry import KINDS, OrderRegistry, StoredOrder
from precast.agent.orders.standing_order import StandingOrder
from precast.agent.state.spool import Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.wire.jobs.orders import RUN
from precast.wire.sessions import COLLECT, Record
from tests.unit.agent.state.records import AT, record


class WaterPlants(msgspec.Struct, frozen=True):
    litres: int
    why: str = ""


class WaterOrders(StandingOrder[WaterPlants]):
    """A made-up kind."""

    name = "water"
    message = WaterPlants
    chore = "facts"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LocalStore]:
    store = LocalStore.open(tmp_path, lambda: "one")
    yield store
    store.close()


@pytest.fixture
def registry(store: LocalStore) -> OrderRegistry:
    return OrderRegistry(store, Spool(store, SpoolLimits()), (*KINDS, WaterOrders))


def test_names_of_kinds_are_unique() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS)


def test_order_of_a_new_kind_is_stored_with_the_number_of_its_record_once(
    store: LocalStore, registry: OrderRegistry
) -> None:
    orders = registry.find(WaterOrders)
    assert not orders.is_pending()
    assert registry.receive(record(1, "water", WaterPlants(2, "it is dry"))) == StoredOrder(
        "water", "facts", "it is dry"
    )
    assert registry.receive(record(1, "water", WaterPlants(2, "again"))) is None
    assert (orders.is_pending(), store.session_state().received) == (True, 1)
    assert not registry.find(CollectOrders).is_pending()
    orders.fulfil()
    assert not orders.is_pending()


@pytest.mark.parametrize(
    ("kind", "body", "level"),
    [("of the future", {}, logging.WARNING), ("water", {"litres": "many"}, logging.ERROR), (RUN, {}, logging.ERROR)],
)
def test_record_that_cannot_be_used_is_logged_and_only_its_number_is_stored(
    store: LocalStore, registry: OrderRegistry, caplog: pytest.LogCaptureFixture, kind: str, body: object, level: int
) -> None:
    assert registry.receive(record(1, kind, body)) is None
    assert store.session_state().received == 1
    assert [logged.levelno for logged in caplog.records] == [level]
    assert store.read("SELECT count(*) FROM standing_order") == [(0,)]


def test_invalid_order_whose_kind_says_all_is_carried_out(registry: OrderRegistry) -> None:
    invalid = Record(1, COLLECT, AT, msgspec.Raw(b'{"why": 7}'))
    assert registry.receive(invalid) == StoredOrder(COLLECT, "facts", "")
    assert registry.find(CollectOrders).is_pending()
