"""How facts differ, on both databases."""

from typing import Any

import pytest

from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.services.facts.differences import FactDifferences
from precast.services.facts.facts import FACTS, FactService
from precast.services.facts.reads import ReadFacts
from precast.services.work_kinds import DECIDE
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.store.identity.certificates import Nodes
from precast.store.queue.queue import WorkQueue
from precast.wire.facts import facts_body


async def send(database: Database, node: str, facts: dict[str, Any]) -> None:
    service = FactService(database, Facts(database), WorkQueue(database, [FACTS, DECIDE]), ReadFacts(database))
    await database.write(Nodes(database).taking, node)
    await service.submit(node, facts_body(facts, {"uptime": 1}))
    await service.work_off("worker")


def rows(found: Any) -> list[tuple[str, Any, Any]]:
    return [(one.path, one.left, one.right) for one in found.differences]


async def test_difference_since_a_moment_is_from_then_to_now(database: Database, clock: ManualClock) -> None:
    differences = FactDifferences(Facts(database))
    # Each path changes seldom: what changes all the time has no history. More steps than one page of it.
    facts: dict[str, Any] = {"keys": {f"k{number:02}": 0 for number in range(40)}, "same": 1}
    moments, sets = [], []
    for number in range(130):
        facts["keys"][f"k{number % 40:02}"] = number
        await send(database, "web1", facts)
        moments.append(clock.now())
        sets.append(dict(facts["keys"]))
        clock.advance(60)
    for number in (0, 1, 64, 100, 128, 129):
        found = await differences.since("web1", moments[number], clock.now())
        before, now = sets[number], sets[-1]
        assert rows(found) == [(f"/keys/{key}", before[key], now[key]) for key in now if before[key] != now[key]]


async def test_difference_between_nodes_is_of_their_stable_facts(database: Database) -> None:
    await send(database, "web1", {"os": {"family": "Debian"}, "only": 1})
    await send(database, "web2", {"os": {"family": "RedHat"}, "new": None})
    found = await FactDifferences(Facts(database)).between("web1", "web2")
    assert (found.left, found.right) == ("web1", "web2")
    assert [one.path for one in found.differences] == ["/new", "/only", "/os/family"]
    assert rows(found)[2] == ("/os/family", "Debian", "RedHat")


@pytest.mark.parametrize("name", ["web9", "../x", "a\0b"])
async def test_node_without_facts_is_not_found(database: Database, name: str) -> None:
    await send(database, "web1", {"x": 1})
    with pytest.raises(PrecastError) as caught:
        await FactDifferences(Facts(database)).between("web1", name)
    assert caught.value.code == "FACTS-002"
