"""Machines that use one certificate, on both databases: neither gets orders until an operator has chosen, and a healthy one is not held."""

from typing import Any

import pytest

from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, NotFoundError, UnavailableError
from precast.services.sessions.lives import NodeLives
from precast.services.sessions.machines import MachineService
from precast.services.sessions.sessions import AcceptedSession
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.sessions.machines import MAX_MACHINES
from precast.store.sessions.sessions import MAX_STREAMS
from precast.wire.nodes.presence import MachineChoice, MachineView
from precast.wire.sessions import MAX_ATTEMPTS, Hello, Welcome, decode_from_server, encode
from tests.contract.sessions.test_session_service import Site, hello, note

ANN = "person:ann"
# The highest number that a hello can have.
HIGHEST = 2**62


class Held(Site):
    """A site whose operator looks at the machines of one node and chooses."""

    def __init__(self, database: Database, name: str = "s1") -> None:
        super().__init__(database, name)
        self.machines = MachineService(database, self.sessions, self.audit)

    async def begin(self, hello: Hello, node: str = "web1", address: str = "192.0.2.1") -> AcceptedSession:
        assert isinstance(self.database.clock, ManualClock)
        self.database.clock.advance(1)
        return await super().begin(hello, node, address)

    async def is_held(self) -> bool:
        presence = await self.sessions.read_presence("web1")
        assert presence is not None
        held = await self.database.read(self.sessions.filter_held, ["web1", "web2"])
        assert held == ({"web1"} if presence.held_at is not None else set())
        return presence.held_at is not None

    async def list(self) -> list[MachineView]:
        return (await self.database.read(self.machines.view, "web1")).machines

    async def choose(self, machine: str) -> None:
        await self.machines.choose("web1", MachineChoice(machine, "it is the one in rack 7"), ANN)

    async def refused(self, said: Hello, address: str = "192.0.2.1") -> str:
        with pytest.raises(ConflictError) as refused:
            await self.begin(said, address=address)
        return str(refused.value.code)


@pytest.fixture
async def site(database: Database) -> Held:
    site = Held(database)
    await site.open("web1")
    return site


async def test_copy_that_connects_while_the_node_is_away_gets_nothing_and_nobody_does(
    site: Held, clock: ManualClock
) -> None:
    await site.begin(hello("a1", machine_id="m1"))
    session = await site.begin(hello("a2", "a1", epoch=1, machine_id="m1"))
    await site.sessions.end(site.name, [("web1", session.epoch)])
    clock.advance(30)
    # The copy was made before the second session of the original.
    assert await site.refused(hello("c1", "a1", epoch=1, machine_id="m1"), "192.0.2.9") == "SESSION-008"
    assert await site.is_held()
    assert await site.refused(hello("a3", "a2", epoch=2, machine_id="m1")) == "SESSION-008"
    original, copy = await site.list()
    assert (original.address, copy.address) == ("192.0.2.1", "192.0.2.9")
    assert (original.state, copy.state) == ("on hold", "on hold")
    assert [entry.action for entry in await site.audit.read_latest()] == ["session.hold"]

    await site.choose(original.machine)
    assert not await site.is_held()
    assert await site.refused(hello("c2", "c1", "a1", epoch=1, machine_id="m1"), "192.0.2.9") == "SESSION-001"
    assert (await site.begin(hello("a4", "a3", "a2", epoch=2, machine_id="m1"))).epoch > 2
    assert await site.refused(hello("c3", "c2", "c1", "a1", epoch=1, machine_id="m1"), "192.0.2.9") == "SESSION-001"
    (refused,) = await site.list()
    assert (refused.machine, refused.state) == (copy.machine, "refused")
    chosen = (await site.audit.read_latest())[0]
    assert (chosen.action, chosen.actor, chosen.detail["machine"]) == ("node.choose-machine", ANN, original.machine)
    assert (chosen.detail["refused"], chosen.detail["why"]) == ([copy.machine], "it is the one in rack 7")


async def test_copy_of_the_last_state_is_found_when_both_have_connected(site: Held) -> None:
    """Until then nothing tells them apart. Afterwards the connection of the copy can store nothing more."""
    await site.begin(hello("a1"))
    copy = await site.begin(hello("c1", "a1", epoch=1))
    assert await site.refused(hello("a2", "a1", epoch=1)) == "SESSION-008"
    assert await site.take(copy.epoch, note(1)) is None
    presence = await site.sessions.read_presence("web1")
    assert presence is not None
    assert presence.server is None
    assert presence.epoch > copy.epoch


@pytest.mark.parametrize("is_original_chosen", [True, False])
async def test_chosen_machine_continues_and_the_other_does_not_although_it_knows_the_last_attempt(
    site: Held, is_original_chosen: bool
) -> None:
    first = await site.begin(hello("a1"))
    await site.take(first.epoch, note(1))
    copy = await site.begin(hello("c1", "a1", epoch=1, last=1))
    await site.take(copy.epoch, note(2, "of the copy"))
    await site.refused(hello("a2", "a1", epoch=1, last=1))
    copied, original = await site.list()
    of_original = hello("a3", "a2", "a1", epoch=1, last=1)
    of_copy = hello("c2", "c1", epoch=copy.epoch, last=2)
    await site.choose(original.machine if is_original_chosen else copied.machine)
    right, wrong = (of_original, of_copy) if is_original_chosen else (of_copy, of_original)
    assert await site.refused(wrong) == "SESSION-001"
    session = await site.begin(right)
    assert session.position.received == right.last
    assert await site.take(session.epoch, note(right.last + 1, "of the chosen one")) == (right.last + 1, False)
    assert await site.refused(wrong) == "SESSION-001"
    assert not await site.is_held()


async def test_image_with_another_machine_id_is_held_although_it_knows_everything(site: Held) -> None:
    await site.begin(hello("a1", machine_id="m1"))
    assert await site.refused(hello("c1", "a1", epoch=1, machine_id="m2")) == "SESSION-008"
    first, second = await site.list()
    assert (first.machine_id, second.machine_id) == ("m1", "m2")
    await site.choose(first.machine)
    # Before the chosen one has connected again, the copy still knows its last attempt.
    assert await site.refused(hello("c2", "c1", "a1", epoch=1, machine_id="m2")) == "SESSION-001"
    await site.begin(hello("a2", "a1", epoch=1, machine_id="m1"))
    # The operator changes the decision.
    await site.choose(second.machine)
    assert await site.refused(hello("a3", "a2", epoch=5, machine_id="m1")) == "SESSION-001"
    await site.begin(hello("c3", "c2", "c1", "a1", epoch=1, machine_id="m2"))


async def test_machine_set_back_within_its_session_is_held_and_continues_from_its_own_number(site: Held) -> None:
    """A snapshot of a running machine: the boot id and the last attempt are the same, only the numbers are lower."""
    session = await site.begin(hello("a1"))
    await site.take(session.epoch, *(note(number) for number in range(1, 6)))
    assert await site.refused(hello("b1", "a1", epoch=1, last=2)) == "SESSION-008"
    assert await site.refused(hello("b2", "b1", "a1", epoch=1, last=2)) == "SESSION-008"
    _, back = await site.list()
    await site.choose(back.machine)
    again = await site.begin(hello("b3", "b2", "b1", "a1", epoch=1, last=2))
    assert again.position.received == 2
    assert await site.take(again.epoch, note(3, "new third")) == (3, False)


async def test_choice_can_be_repeated_and_unknown_machines_are_named(site: Held) -> None:
    with pytest.raises(NotFoundError, match="has never been connected"):
        await site.choose("00000000")
    await site.begin(hello("a1"))
    with pytest.raises(NotFoundError, match="has no machine 00000000"):
        await site.choose("00000000")
    await site.begin(hello("c1", "a1", epoch=1))
    await site.refused(hello("a2", "a1", epoch=1))
    machine = (await site.list())[0].machine
    await site.choose(machine)
    await site.choose(machine)
    actions = [entry.action for entry in await site.audit.read_latest()]
    assert actions == ["node.choose-machine", "session.hold"]


async def test_machines_of_a_node_are_bounded(site: Held) -> None:
    await site.begin(hello("a1", machine_id="m0"))
    for number in range(1, 30):
        await site.refused(hello(f"c{number}", "a1", epoch=1, machine_id=f"m{number}"))
    assert len(await site.list()) == MAX_MACHINES
    assert "m29" in [machine.machine_id for machine in await site.list()]


async def test_streams_of_replaced_stores_are_bounded(site: Held) -> None:
    for number in range(30):
        session = await site.begin(hello(f"a{number}", instance=f"store{number}"))
        await site.take(session.epoch, note(1), instance=f"store{number}")

    def count() -> Transaction[int]:
        found = 0
        for number in range(30):
            found += (yield from site.sessions.find_received("web1", f"store{number}")) is not None
        return found

    assert await site.database.read(count) == MAX_STREAMS
    assert await site.take(session.epoch, note(2), instance="store29") == (2, False)
    assert not await site.is_held()
    # A store that is forgotten is not a new one: it has had a session.
    assert await site.refused(hello("b1", "a0", instance="store0", epoch=1, last=1)) == "SESSION-008"


async def test_epoch_that_a_machine_invents_does_not_outlive_it(site: Held) -> None:
    await site.begin(hello("a1", epoch=HIGHEST))
    await site.refused(hello("b1", epoch=HIGHEST, machine_id="m1"))
    await site.database.write(NodeLives(site.database).begin, "web1")
    accepted = await site.begin(hello("n1", instance="new"))
    welcome = Welcome(1, accepted.epoch, "s1", 0, heartbeat_s=30, cycle_s=30, horizon_s=30)
    assert decode_from_server(encode(welcome)) == welcome, "an agent must understand it"


async def test_new_life_forgets_machines_orders_and_numbers(site: Held) -> None:
    session = await site.begin(hello("a1", machine_id="m1"))
    await site.take(session.epoch, *(note(number) for number in range(1, 4)))
    await site.refused(hello("c1", "a1", epoch=1, machine_id="m2"))
    await site.order("web1", "of the old life")
    await site.database.write(NodeLives(site.database).begin, "web1")
    assert not await site.is_held()
    assert await site.list() == []
    assert await site.take(session.epoch, note(4, "from the old life")) is None
    assert await site.orders.read("web1", 0, 10) == []
    new = await site.begin(hello("n1", instance="new", machine_id="m2"))
    assert (new.position.received, new.epoch > session.epoch) == (0, True)
    presence = await site.sessions.read_presence("web1")
    assert presence is not None
    assert presence.lost == 0


HEALTHY: dict[str, dict[str, Any]] = {
    "rebooted": {"boot_id": "another"},
    "lost its machine id": {"machine_id": ""},
    "upgraded": {"agent": "99.0"},
    "new store": {"instance": "another", "attempts": ["z1"], "epoch": 0, "last": 0},
    "repeats its last attempt": {"attempts": ["a2", "a1"]},
    "many attempts without an answer": {"attempts": [f"b{number}" for number in range(MAX_ATTEMPTS - 1)] + ["a2"]},
    "restored server": {"attempts": ["y2", "y1"], "epoch": 77},
}


@pytest.mark.parametrize("change", HEALTHY.values(), ids=HEALTHY)
async def test_healthy_machine_is_not_held(site: Held, change: dict[str, Any]) -> None:
    await site.begin(hello("a1", machine_id="m1"))
    session = await site.begin(hello("a2", "a1", epoch=1, machine_id="m1"))
    await site.take(session.epoch, note(1), note(2))
    said: dict[str, Any] = {
        "attempts": ["a3", "a2"],
        "boot_id": "boot",
        "agent": "0.1",
        "instance": "store",
        "epoch": 2,
        "last": 2,
    }
    said |= {"machine_id": "m1"} | change
    await site.begin(Hello(versions=[1], **said), address="198.51.100.7")
    assert not await site.is_held()


async def test_hello_that_a_paused_server_reads_late_holds_no_node(site: Held, other_database: Database) -> None:
    other = Held(other_database, "s2")
    await other.open()
    await site.begin(hello("a1"))
    newest = await other.begin(hello("a3", "a2", "a1", epoch=1))
    with pytest.raises(UnavailableError, match="has connected again since"):
        await site.begin(hello("a2", "a1", epoch=1))
    assert not await site.is_held()
    assert await other.take(newest.epoch, note(1)) == (1, False)
    # Also after the machine has connected several times more.
    for number in range(4, 8):
        newest = await other.begin(hello(f"a{number}", f"a{number - 1}", epoch=newest.epoch, last=1))
    with pytest.raises(UnavailableError):
        await site.begin(hello("a2", "a1", epoch=1))
    assert not await site.is_held()
