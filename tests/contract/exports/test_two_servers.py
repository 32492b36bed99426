"""Two servers over one database take turns in random steps: in the end every collector sees what the served catalogs export."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from lab.export_site import CODE, ExportSite
from precast.base.clock import ManualClock
from precast.base.ids import CountedIds
from precast.store.engine.database import Database

STEPS = 60
WEBS = [f"web{number}" for number in range(4)]
MONITORS = ["mon1", "mon2"]


class Model:
    """What each web node exports: the address with which its staged catalog was released last, and whether it is active."""

    def __init__(self) -> None:
        self.history: dict[str, list[str]] = {name: [] for name in WEBS}
        self.inactive: set[str] = set()

    @property
    def expected(self) -> dict[str, str]:
        return {
            f"web {name}": f"at {addresses[-1]}"
            for name, addresses in self.history.items()
            if addresses and name not in self.inactive
        }


@pytest.fixture
async def servers(database: Database) -> AsyncIterator[list[ExportSite]]:
    ids = CountedIds()
    made = [ExportSite(database, audit_ids=ids) for _ in range(2)]
    await made[0].deploy({"manifests/site.pp": CODE})
    for name in WEBS:
        await made[0].join(name, "web")
    for name in MONITORS:
        await made[0].join(name, "monitor")
    await made[0].settle()
    yield made
    for site in made:
        await site.close()


async def take_a_step(chance: random.Random, site: ExportSite, model: Model) -> None:
    name = chance.choice(WEBS)
    works: list[Callable[[], Awaitable[object]]] = [
        lambda: site.facts.work_off("f"),
        lambda: site.decisions.work_off("d"),
        lambda: site.compiler.work_off("c"),
        lambda: site.rounds.announce("r"),
    ]
    kind = chance.choice(["work"] * 8 + ["change", "release", "release", "roll back", "deactivate", "reactivate"])
    if kind == "work":
        await chance.choice(works)()
    elif kind == "change" and name not in model.inactive:
        await site.join(name, "web", f"10.0.0.{chance.randrange(250)}")
    elif kind == "release" and name not in model.inactive:
        staged = (await site.staged(name)).fill
        before = await site.catalogs.released.read_served(name)
        await site.release(name)
        served = await site.catalogs.released.read_served(name)
        assert served is not None
        if before is None or served.number != before.number:
            model.history[name].append(staged.split('"')[-2])
    elif kind == "roll back" and len(model.history[name]) > 1 and name not in model.inactive:
        before = await site.catalogs.released.read_served(name)
        await site.roll_back(name)
        served = await site.catalogs.released.read_served(name)
        assert before is not None
        assert served is not None
        if served.number != before.number:
            model.history[name].pop()
    elif kind == "deactivate":
        await site.deactivate(name)
        model.inactive.add(name)
    elif kind == "reactivate":
        await site.reactivate(name)
        model.inactive.discard(name)


@pytest.mark.parametrize("seed", range(6))
async def test_collectors_see_in_the_end_what_is_served(servers: list[ExportSite], seed: int) -> None:
    chance, model = random.Random(seed), Model()
    for _ in range(STEPS):
        await take_a_step(chance, chance.choice(servers), model)
    assert isinstance(servers[0].database.clock, ManualClock)
    servers[0].database.clock.advance(600)
    while sum([await site.settle() for site in servers]):
        pass
    for name in MONITORS:
        assert await servers[0].collected(name) == model.expected
