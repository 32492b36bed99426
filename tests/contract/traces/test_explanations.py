"""What matters of facts, why catalogs change and who gets none, on both databases."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from lab.compiling import Compiling
from precast.base.clock import ManualClock
from precast.base.errors import NotFoundError
from precast.base.ids import CountedIds
from precast.services import issues
from precast.services.catalogs.troubles import CatalogTroubles
from precast.services.catalogs.views import CatalogViews
from precast.services.compile.requests import CompileRequests
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.store.identity.audit import AuditLog
from precast.store.nodes.nodes import Said
from precast.wire.catalogs.bodies import LastChange

NODE = "web1.example.org"
CODE = {
    "manifests/site.pp": "include profile\n",
    "modules/profile/manifests/init.pp": """
class profile(String $motd = 'none') {
  file { '/etc/motd': content => "${motd} on ${facts['networking']['hostname']}\\n" }
  if $facts['os']['family'] == 'Debian' { package { 'apt': } }
}
""",
    "hiera.yaml": "version: 5\nhierarchy:\n  - name: common\n    path: common.yaml\n",
    "data/common.yaml": "profile::motd: hello\n",
}


class Explained(Compiling):
    """With what people may ask."""

    def __init__(self, database: Database, clock: ManualClock) -> None:
        super().__init__(database)
        self.clock = clock
        self.views = CatalogViews(database, self.catalogs, self.traces, self.environments)
        self.troubles = CatalogTroubles(database, self.catalogs, self.traces, Facts(database), self.work)
        audit = AuditLog(database, CountedIds())
        self.requests = CompileRequests(database, self.catalogs, self.traces, self.inputs, self.work, audit)

    async def node(self, **facts: Any) -> None:
        await self.introduce(NODE)
        await self.submit(NODE, {"os": {"family": "Debian"}, "networking": {"hostname": "web1"}, **facts}, {})

    async def settle(self) -> int:
        await self.decision()
        return await super().settle()

    async def change(self) -> LastChange:
        found = (await self.views.why(NODE)).change
        assert found is not None
        return found

    async def decision(self) -> str:
        await self.facts.work_off("f")
        self.clock.advance(1)
        return (await self.facts.show(NODE)).decision


@pytest.fixture
async def site(database: Database, clock: ManualClock) -> AsyncIterator[Explained]:
    made = Explained(database, clock)
    await made.deploy(CODE)
    await made.node()
    await made.settle()
    yield made
    await made.workers.close()


async def test_fact_that_no_trace_reads_asks_for_no_decision(site: Explained) -> None:
    await site.node(unread=1)
    assert await site.decision() == "1 changed, none of them matters"
    assert await site.work.waiting() == []
    await site.node(os={"family": "RedHat"}, unread=1)
    assert await site.decision() == "1 changed: compile"


async def test_facts_that_come_while_a_node_is_decided_are_not_lost(site: Explained) -> None:
    """They were judged by the trace of before: the decision finds that they are others, and is made again."""
    await site.deploy({**CODE, "manifests/site.pp": "notice($facts['colour'])\n"})
    await site.decisions.spread("d")
    claims = await site.work.claim("decide", "slow", limit=10, lease_s=60)
    known = await site.database.read(site.inputs.reading, [NODE])
    outcome = await site.decisions.decide(known)
    await site.node(colour="red")
    assert await site.decision() == "1 changed, none of them matters"
    await site.database.write(site.decisions._persisting, claims, known, outcome, [])
    await site.settle()
    ((question, about, answer),) = [
        (one.question, one.about, one.answer) for one in (await site.views.why(NODE)).reads if one.about == "colour"
    ]
    assert (question, answer) == ("fact", "red")
    assert about == "colour"


async def test_waiting_node_is_decided_again_by_any_change(site: Explained) -> None:
    """What it will read is not known before its compile."""
    await site.deploy({**CODE, "manifests/site.pp": "notice($facts['colour'])\n"})
    await site.decisions.spread("d")
    await site.decisions.work_off("d")
    await site.node(colour="red")
    assert await site.decision() == "1 changed: compile"


async def test_fact_that_uses_up_the_allowance_is_named_and_begins_anew_after_a_rest(
    site: Explained, clock: ManualClock
) -> None:
    for number in range(8):
        clock.advance(1)
        await site.node(os={"family": f"family{number}"}, unread=number)
        await site.facts.work_off("f")
    (flap,) = await site.troubles.flapping()
    assert (flap.node, flap.path) == (NODE, "/os/family")
    assert flap.times >= 3
    assert flap.last_at - flap.since >= timedelta(seconds=2)
    clock.advance(2 * 3600)
    assert await site.troubles.flapping() == []


async def test_change_by_code_names_the_file_and_the_version_that_brought_it(site: Explained) -> None:
    first = await site.staged(NODE)
    assert (await site.views.why(NODE)).change is None
    await site.deploy({**CODE, "data/common.yaml": "profile::motd: changed\n"})
    # Another version on top, before anybody was decided: it did not bring the change.
    await site.deploy({**CODE, "data/common.yaml": "profile::motd: changed\nother: 1\n"})
    await site.settle()
    change = await site.change()
    assert (change.question, change.before) == ("data_key", first.digest)
    assert change.about == "data/common.yaml profile::motd yaml_data"
    assert change.old_answer != change.new_answer
    assert change.brought_by is not None
    assert change.brought_by.number == 2


async def test_change_by_a_fact_tells_both_values(site: Explained) -> None:
    await site.node(os={"family": "RedHat"})
    await site.settle()
    change = await site.change()
    assert (change.question, change.about, change.brought_by) == ("fact", "os.family", None)
    assert (change.old_answer, change.new_answer) == ("Debian", "RedHat")
    # And back: the tree knows the answer that led away.
    await site.node(os={"family": "Debian"})
    await site.settle()
    change = await site.change()
    assert (change.old_answer, change.new_answer) == ("RedHat", "Debian")


async def test_change_of_a_value_left_open_tells_it(site: Explained) -> None:
    await site.node(networking={"hostname": "renamed"})
    assert await site.settle() == 0
    change = await site.change()
    assert (change.about, change.old_answer, change.new_answer) == ("networking.hostname", "web1", "renamed")


async def test_change_of_the_environment_is_told(site: Explained) -> None:
    await site.deploy({**CODE, "data/common.yaml": "profile::motd: elsewhere\n"}, "staging")

    def moving() -> Any:
        yield from site.fleet.classifying(NODE, Said("staging", None, True, {}, {}))

    await site.database.write(moving)
    await site.settle()
    change = await site.change()
    assert (change.question, change.old_answer, change.new_answer) == ("environment", "production", "staging")


async def test_way_shows_the_answers_that_led_away(site: Explained) -> None:
    await site.node(os={"family": "RedHat"})
    await site.settle()
    reads = {one.about: one.answer for one in (await site.views.why(NODE)).reads}
    assert reads["os.family"] == "RedHat"


async def test_person_asks_for_a_decision_and_hears_how_far_it_is(site: Explained) -> None:
    assert (await site.requests.progress(NODE)).state == "done"
    assert (await site.requests.ask(NODE, "person:a")).state == "queued"
    assert (await site.requests.progress(NODE)).state == "queued"
    (claim,) = await site.work.claim("decide", "d", limit=1, lease_s=60)
    assert (await site.requests.progress(NODE)).state == "deciding"
    await site.work.give_back(claim)
    assert await site.settle() == 0
    assert (await site.requests.progress(NODE)).state == "done"


async def test_compile_that_is_given_up_is_listed_and_tried_again(site: Explained, clock: ManualClock) -> None:
    await site.deploy({**CODE, "manifests/site.pp": "notice($facts['colour'])\n"})
    await site.decisions.spread("d")
    await site.decisions.work_off("d")
    for _ in range(3):
        (claim,) = await site.work.claim("compile", "c", limit=1, lease_s=60)
        await site.work.fail(claim, issues.COMPILE_MEMORY.error(node=NODE, limit_mb=10).message)
        clock.advance(400)
    (dead,) = await site.troubles.dead()
    assert (dead.kind, dead.environment, dead.attempts, dead.nodes, dead.count) == (
        "compile",
        "production",
        3,
        [NODE],
        1,
    )
    assert "10 MB" in dead.error
    progress = await site.requests.progress(NODE)
    assert (progress.state, progress.attempts) == ("given up", 3)
    await site.requests.ask(NODE, "person:a")
    assert await site.settle() == 1
    assert await site.troubles.dead() == []
    assert (await site.requests.progress(NODE)).state == "done"


async def test_asking_for_a_node_that_cannot_have_a_catalog_says_why(site: Explained) -> None:
    with pytest.raises(NotFoundError, match="there is no node nobody"):
        await site.requests.ask("nobody", "person:a")
    with pytest.raises(NotFoundError, match="there is no node"):
        await site.requests.ask("../no name", "person:a")
    await site.introduce("silent.example.org")
    with pytest.raises(NotFoundError, match="it has sent no facts"):
        await site.requests.ask("silent.example.org", "person:a")
