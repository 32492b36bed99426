"""Which facts matter, why catalogs change, and which nodes get none, on both databases."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from lab.compile_services import CompileServices
from precast.base.clock import ManualClock
from precast.base.errors import NotFoundError
from precast.base.ids import CountedIds
from precast.services.catalogs.problems import CatalogProblems
from precast.services.catalogs.views import CatalogViews
from precast.services.compile import issues as compile_issues
from precast.services.compile.requests import CompileRequests
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.store.identity.audit import AuditLog
from precast.store.nodes.nodes import NodeClassification
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


class Explained(CompileServices):
    """The compile services with the views that people use."""

    def __init__(self, database: Database, clock: ManualClock) -> None:
        super().__init__(database)
        self.clock = clock
        self.views = CatalogViews(database, self.catalogs, self.traces, self.environments)
        self.problems = CatalogProblems(database, self.catalogs, self.traces, Facts(database), self.work)
        audit = AuditLog(database, CountedIds())
        self.requests = CompileRequests(database, self.catalogs, self.traces, self.inputs, self.work, audit)

    async def node(self, **facts: Any) -> None:
        await self.introduce(NODE)
        await self.submit(NODE, {"os": {"family": "Debian"}, "networking": {"hostname": "web1"}, **facts}, {})

    async def settle(self) -> int:
        await self.decision()
        return await super().settle()

    async def change(self) -> LastChange:
        change = (await self.views.why(NODE)).change
        assert change is not None
        return change

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
    await made.close()


async def test_change_of_an_unread_fact_requests_no_decision(site: Explained) -> None:
    await site.node(unread=1)
    assert await site.decision() == "1 changed, none of them matters"
    assert await site.work.list_waiting() == []
    await site.node(os={"family": "RedHat"}, unread=1)
    assert await site.decision() == "1 changed: compile"


async def test_facts_that_arrive_during_a_decision_are_not_lost(site: Explained) -> None:
    """The intake judged them by the earlier trace: the decision finds that the facts have changed, and is requested again."""
    await site.deploy({**CODE, "manifests/site.pp": "notice($facts['colour'])\n"})
    await site.decisions.spread("d")
    claims = await site.work.claim("decide", "slow", limit=10, lease_s=60)
    node_inputs = await site.database.read(site.inputs.read, [NODE])
    outcome = await site.decisions.decide(node_inputs, {})
    await site.node(colour="red")
    assert await site.decision() == "1 changed, none of them matters"
    await site.database.write(site.decisions._store, claims, node_inputs, outcome, [])
    await site.settle()
    ((question, about, answer),) = [
        (read.question, read.about, read.answer)
        for read in (await site.views.why(NODE)).reads
        if read.about == "colour"
    ]
    assert (question, answer) == ("fact", "red")
    assert about == "colour"


async def test_waiting_node_is_decided_again_by_any_change(site: Explained) -> None:
    """The facts that the catalog will depend on are not known before its compile."""
    await site.deploy({**CODE, "manifests/site.pp": "notice($facts['colour'])\n"})
    await site.decisions.spread("d")
    await site.decisions.work_off("d")
    await site.node(colour="red")
    assert await site.decision() == "1 changed: compile"


async def test_fact_that_uses_up_the_allowance_is_listed_and_counted_again_after_a_pause(
    site: Explained, clock: ManualClock
) -> None:
    for number in range(8):
        clock.advance(1)
        await site.node(os={"family": f"family{number}"}, unread=number)
        await site.facts.work_off("f")
    (flap,) = await site.problems.list_flapping_facts()
    assert (flap.node, flap.path) == (NODE, "/os/family")
    assert flap.times >= 3
    assert flap.last_at - flap.since >= timedelta(seconds=2)
    clock.advance(2 * 3600)
    assert await site.problems.list_flapping_facts() == []


async def test_change_by_code_names_the_file_and_the_version_that_changed_it(site: Explained) -> None:
    first = await site.staged(NODE)
    assert (await site.views.why(NODE)).change is None
    await site.deploy({**CODE, "data/common.yaml": "profile::motd: changed\n"})
    # Another version is deployed before any decision: it is not the one that changed the file.
    await site.deploy({**CODE, "data/common.yaml": "profile::motd: changed\nother: 1\n"})
    await site.settle()
    change = await site.change()
    assert (change.question, change.before) == ("data_key", first.digest)
    assert change.about == "data/common.yaml profile::motd yaml_data"
    assert change.old_answer != change.new_answer
    assert change.brought_by is not None
    assert change.brought_by.number == 2


async def test_change_by_a_fact_shows_both_values(site: Explained) -> None:
    await site.node(os={"family": "RedHat"})
    await site.settle()
    change = await site.change()
    assert (change.question, change.about, change.brought_by) == ("fact", "os.family", None)
    assert (change.old_answer, change.new_answer) == ("Debian", "RedHat")
    # And back: the tree has the answer at the branch point.
    await site.node(os={"family": "Debian"})
    await site.settle()
    change = await site.change()
    assert (change.old_answer, change.new_answer) == ("RedHat", "Debian")


async def test_change_of_a_hole_shows_its_values(site: Explained) -> None:
    await site.node(networking={"hostname": "renamed"})
    assert await site.settle() == 0
    change = await site.change()
    assert (change.about, change.old_answer, change.new_answer) == ("networking.hostname", "web1", "renamed")


async def test_change_of_the_environment_is_shown(site: Explained) -> None:
    await site.deploy({**CODE, "data/common.yaml": "profile::motd: elsewhere\n"}, "staging")

    def moving() -> Any:
        yield from site.fleet.set_classification(NODE, NodeClassification("staging", None, True, {}, {}))

    await site.database.write(moving)
    await site.settle()
    change = await site.change()
    assert (change.question, change.old_answer, change.new_answer) == ("environment", "production", "staging")


async def test_path_shows_the_answers_at_its_branch_points(site: Explained) -> None:
    await site.node(os={"family": "RedHat"})
    await site.settle()
    reads = {read.about: read.answer for read in (await site.views.why(NODE)).reads}
    assert reads["os.family"] == "RedHat"


async def test_requested_decision_shows_its_progress(site: Explained) -> None:
    assert (await site.requests.progress(NODE)).state == "done"
    assert (await site.requests.ask(NODE, "person:a")).state == "queued"
    assert (await site.requests.progress(NODE)).state == "queued"
    (claim,) = await site.work.claim("decide", "d", limit=1, lease_s=60)
    assert (await site.requests.progress(NODE)).state == "deciding"
    await site.work.give_back(claim)
    assert await site.settle() == 0
    assert (await site.requests.progress(NODE)).state == "done"


async def test_compile_that_was_given_up_is_listed_and_retried(site: Explained, clock: ManualClock) -> None:
    await site.deploy({**CODE, "manifests/site.pp": "notice($facts['colour'])\n"})
    await site.decisions.spread("d")
    await site.decisions.work_off("d")
    for _ in range(3):
        (claim,) = await site.work.claim("compile", "c", limit=1, lease_s=60)
        await site.work.fail(claim, compile_issues.COMPILE_MEMORY.error(node=NODE, limit_mb=10).message)
        clock.advance(400)
    (dead,) = await site.problems.list_dead_compiles()
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
    assert await site.problems.list_dead_compiles() == []
    assert (await site.requests.progress(NODE)).state == "done"


async def test_request_for_a_node_that_cannot_have_a_catalog_says_why(site: Explained) -> None:
    with pytest.raises(NotFoundError, match="there is no node nobody"):
        await site.requests.ask("nobody", "person:a")
    with pytest.raises(NotFoundError, match="there is no node"):
        await site.requests.ask("../no name", "person:a")
    await site.introduce("silent.example.org")
    with pytest.raises(NotFoundError, match="it has sent no facts"):
        await site.requests.ask("silent.example.org", "person:a")
