"""Differences of facts, on both databases."""

from typing import Any

import pytest

from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.services.facts.differences import FactDifferences
from precast.services.facts.intake import FACTS
from precast.services.facts.reads import TracedReads
from precast.services.facts.service import FactService
from precast.services.work_kinds import DECIDE
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.store.identity.certificates import NodeCertificates
from precast.store.queue.queue import WorkQueue
from precast.wire.facts import make_upload


async def send(database: Database, node: str, facts: dict[str, Any]) -> None:
    service = FactService(database, Facts(database), WorkQueue(database, [FACTS, DECIDE]), TracedReads(database))
    await database.write(NodeCertificates(database).lock_or_create, node)
    await service.submit(node, make_upload(facts, {"uptime": 1}))
    await service.work_off("worker")


def rows(difference: Any) -> list[tuple[str, Any, Any]]:
    return [(row.path, row.left, row.right) for row in difference.differences]


async def test_difference_since_a_time_is_from_then_to_now(database: Database, clock: ManualClock) -> None:
    differences = FactDifferences(Facts(database))
    # Each path changes rarely, because volatile paths have no history; there are more steps than one page.
    facts: dict[str, Any] = {"keys": {f"k{number:02}": 0 for number in range(40)}, "same": 1}
    times, sets = [], []
    for number in range(130):
        facts["keys"][f"k{number % 40:02}"] = number
        await send(database, "web1", facts)
        times.append(clock.now())
        sets.append(dict(facts["keys"]))
        clock.advance(60)
    for number in (0, 1, 64, 100, 128, 129):
        difference = await differences.since("web1", times[number], clock.now())
        before, now = sets[number], sets[-1]
        assert rows(difference) == [(f"/keys/{key}", before[key], now[key]) for key in now if before[key] != now[key]]


async def test_difference_between_nodes_is_of_their_stable_facts(database: Database) -> None:
    await send(database, "web1", {"os": {"family": "Debian"}, "only": 1})
    await send(database, "web2", {"os": {"family": "RedHat"}, "new": None})
    difference = await FactDifferences(Facts(database)).between("web1", "web2")
    assert (difference.left, difference.right) == ("web1", "web2")
    assert [row.path for row in difference.differences] == ["/new", "/only", "/os/family"]
    assert rows(difference)[2] == ("/os/family", "Debian", "RedHat")


@pytest.mark.parametrize("name", ["web9", "../x", "a\0b"])
async def test_node_without_facts_is_not_found(database: Database, name: str) -> None:
    await send(database, "web1", {"x": 1})
    with pytest.raises(PrecastError) as caught:
        await FactDifferences(Facts(database)).between("web1", name)
    assert caught.value.code == "FACTS-002"
