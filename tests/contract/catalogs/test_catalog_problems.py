"""Problems of a catalog are known when it is staged: a cycle, a type that needs a Puppet, a fact that a module's Ruby would add."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lab.compile_services import CompileServices
from precast.base.clock import ManualClock
from precast.services.catalogs.problems import CatalogProblems
from precast.services.catalogs.views import CatalogViews
from precast.services.nodes.status import ServerInfo, StatusService
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.store.nodes.classification import Classifications
from precast.store.sessions.sessions import Sessions
from precast.wire.catalogs.bodies import CatalogWarning, PreviewView, ReleaseBody
from precast.wire.nodes.bodies import TargetsBody

CYCLE = """
class web { notify { 'web': require => Class['db'] } }
class db { notify { 'db': require => Class['web'] } }
include web, db
"""
TYPES = "selboolean { 'a': } selboolean { 'b': require => Selboolean['a'] } notify { 'c': }\n"
FACT = """
Facter.add(:disk_layout) do
  setcode { Augeas.open('/') }
end
"""
READS_FACT = "notify { 'n': message => \"${facts['disk_layout']} ${facts['undeclared']}\" }\n"


class Site(CompileServices):
    """The compile services, and the views of their problems."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.problems = CatalogProblems(database, self.catalogs, self.traces, Facts(database), self.work)
        self.views = CatalogViews(database, self.catalogs, self.traces, self.environments)

    async def stage(self, files: dict[str, str], nodes: int = 3, **facts: Any) -> int:
        await self.deploy(files)
        for number in range(nodes):
            await self.introduce(f"web{number}")
            await self.submit(f"web{number}", {"os": {"family": "Debian"}, **facts}, {"uptime": 1})
        return await self.settle()

    async def preview(self) -> PreviewView:
        return await self.previews.preview(ReleaseBody(TargetsBody(all=True)))

    async def status(self) -> list[str]:
        """What `status` says about catalogs."""

        async def answer() -> None: ...  # the signer answers

        server = ServerInfo(Path("/"), self.database.clock.now(), lambda: datetime.max.replace(tzinfo=UTC), answer)
        service = StatusService(
            self.database, self.fleet, Sessions(self.database), self.work, Classifications(self.database), server
        )
        return [problem.text for problem in (await service.show()).problems if "catalog" in problem.text]

    async def warnings(self) -> list[CatalogWarning]:
        return await self.problems.list_warnings("")


@pytest.fixture
async def site(database: Database) -> AsyncIterator[Site]:
    made = Site(database)
    yield made
    await made.close()


THING = """
Puppet::Type.newtype(:thing) do
  newparam(:name)
  newparam(:mode) { newvalues(:fast, :slow) }
end
"""


async def test_value_that_a_type_refuses_is_an_error_at_staging_and_is_not_released(site: Site) -> None:
    files = {"modules/m/lib/puppet/type/thing.rb": THING, "manifests/site.pp": "thing { 'a': mode => 'zip' }"}
    assert await site.stage(files) == 1
    errors = await site.problems.list_errors("")
    assert [error.node for error in errors] == ["web0", "web1", "web2"]
    assert "Parameter mode failed on Thing[a]: Invalid value" in errors[0].error
    assert "[LANG-791]" in errors[0].error
    assert set((await site.preview()).left_out) == {"web0", "web1", "web2"}
    released = await site.releases.release(ReleaseBody(TargetsBody(all=True)), "ada")
    assert released.released == []
    await site.stage({**files, "manifests/site.pp": "notify { 'fine': }"})
    assert await site.status() == []


async def test_catalog_with_a_cycle_is_an_error_at_staging_and_is_not_released(site: Site) -> None:
    assert await site.stage({"manifests/site.pp": CYCLE}) == 1
    errors = await site.problems.list_errors("")
    assert [error.node for error in errors] == ["web0", "web1", "web2"]
    path = "Notify[web] => Class[Web] => Notify[db] => Class[Db] => Notify[web]"
    assert path in errors[0].error
    assert "[CATALOG-002]" in errors[0].error
    assert "manifests/site.pp:2" in errors[0].error
    preview = await site.preview()
    assert set(preview.left_out) == {"web0", "web1", "web2"}
    released = await site.releases.release(ReleaseBody(TargetsBody(all=True)), "ada")
    assert released.released == []
    assert await site.status() == ["the code of 3 nodes gives an error: no new catalog can be staged"]
    await site.stage({"manifests/site.pp": "notify { 'fine': }"})
    assert await site.status() == []


async def test_type_that_needs_a_puppet_is_a_warning_at_staging_of_nodes_that_say_nothing_of_it(site: Site) -> None:
    assert await site.stage({"manifests/site.pp": TYPES}) == 1
    assert await site.problems.list_errors("") == []
    warnings = await site.warnings()
    assert [warning.node for warning in warnings] == ["web0", "web1", "web2"]
    (problem,) = warnings[0].problems
    assert problem.code == "CATALOG-007"
    assert "its facts do not say whether it has one: selboolean" in problem.text
    assert (await site.views.show("web0")).problems == [problem]
    (shown,) = (await site.preview()).problems
    assert (shown.problem, shown.count) == (problem, 3)
    assert await site.status() == ["the staged catalogs of 3 nodes have problems that a run could meet"]
    # It fails only these resources, so it is released.
    released = await site.releases.release(ReleaseBody(TargetsBody(all=True)), "ada")
    assert len(released.released) == 3
    await site.stage({"manifests/site.pp": "notify { 'fine': }"})
    assert await site.warnings() == []
    assert await site.status() == []


async def test_type_that_needs_a_puppet_is_an_error_at_staging_of_nodes_that_have_none(site: Site) -> None:
    await site.stage({"manifests/site.pp": TYPES}, precast_bridge={"available": False})
    errors = await site.problems.list_errors("")
    assert [error.node for error in errors] == ["web0", "web1", "web2"]
    assert "the node has no Puppet" in errors[0].error
    assert "selboolean" in errors[0].error
    assert (await site.preview()).left_out == dict.fromkeys(("web0", "web1", "web2"), "its code gives an error")
    # The environment decides whether such a node gets the rest of its catalog.
    files = {"manifests/site.pp": TYPES, "environment.conf": "types_without_puppet = warning\n"}
    await site.stage(files, precast_bridge={"available": False})
    assert await site.problems.list_errors("") == []
    assert [problem.code for problem in (await site.warnings())[0].problems] == ["CATALOG-006"]


async def test_type_that_needs_a_puppet_is_no_problem_of_a_node_that_has_one(site: Site) -> None:
    await site.stage({"manifests/site.pp": TYPES}, precast_bridge={"available": True, "puppet": "7.23.0"})
    assert await site.problems.list_errors("") == []
    assert await site.warnings() == []


async def test_missing_fact_that_a_module_adds_in_ruby_is_a_warning_until_the_node_has_it(
    site: Site, clock: ManualClock
) -> None:
    files = {"manifests/site.pp": READS_FACT, "modules/disks/lib/facter/disk_layout.rb": FACT}
    assert await site.stage(files) == 1
    (problem,) = (await site.warnings())[0].problems
    assert "disk_layout" in problem.text
    assert "modules/disks/lib/facter/disk_layout.rb" in problem.text
    assert "undeclared" not in problem.text
    # A node that has the fact gets another leaf, without the warning; the others keep theirs.
    clock.advance(60)
    await site.submit("web1", {"os": {"family": "Debian"}, "disk_layout": "plain"}, {"uptime": 1})
    assert await site.settle() == 1
    assert [warning.node for warning in await site.warnings()] == ["web0", "web2"]
    assert (await site.views.show("web1")).problems == []


async def test_missing_fact_of_a_module_is_an_error_if_the_environment_says_so(site: Site) -> None:
    files = {
        "manifests/site.pp": READS_FACT,
        "modules/disks/lib/facter/disk_layout.rb": FACT,
        "environment.conf": "missing_module_facts = error\n",
    }
    await site.stage(files)
    errors = await site.problems.list_errors("")
    assert len(errors) == 3
    assert "modules/disks/lib/facter/disk_layout.rb" in errors[0].error
    assert "disk_layout.py" in errors[0].error
    await site.stage({**files, "environment.conf": "missing_module_facts = ignore\n"})
    assert await site.problems.list_errors("") == []
    assert await site.warnings() == []


async def test_files_of_facts_that_do_not_concern_a_missing_fact_lead_to_no_compile(site: Site) -> None:
    files = {"manifests/site.pp": READS_FACT, "modules/disks/lib/facter/disk_layout.rb": FACT}
    await site.stage(files)
    other = {**files, "modules/other/facts.d/other.yaml": "other: 1\n"}
    assert await site.stage(other) == 0
    assert len(await site.warnings()) == 3
    # A plug-in that collects the fact: a node without it does not have it, as with any other fact.
    await site.stage({**files, "modules/disks/precast/facts/disk_layout.py": "def collect(): return None\n"})
    assert await site.warnings() == []


async def test_error_of_code_that_lacks_a_fact_of_a_module_has_the_warning_too(site: Site) -> None:
    code = "class a(String $layout) {} class { 'a': layout => $facts['disk_layout'] }"
    await site.stage({"manifests/site.pp": code, "modules/disks/lib/facter/disk_layout.rb": FACT}, nodes=1)
    (error,) = await site.problems.list_errors("")
    assert "String" in error.error
    assert [problem.code for problem in error.problems] == ["LANG-765"]
