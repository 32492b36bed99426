"""Origins of resources on both databases: the line, the version that last changed the file, the release that introduced it."""

from collections.abc import AsyncIterator

import pytest

from lab.compile_services import CompileServices
from precast.base.errors import NotFoundError
from precast.services.catalogs.origins import OriginService
from precast.services.traces.versions import Versions
from precast.store.engine.database import Database
from precast.store.traces import Traces
from precast.wire.catalogs.bodies import ReleaseBody
from precast.wire.nodes.bodies import TargetsBody

SITE = "include profile\n"
PROFILE = """class profile {
  file { '/etc/motd': content => 'hello' }
  file { '/etc/issue': content => 'hi' }
}
"""
CODE = {"manifests/site.pp": SITE, "modules/profile/manifests/init.pp": PROFILE}
NODE = "web1"


class Traced(CompileServices):
    """One node, and the origins of its resources."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.origins = OriginService(database, self.catalogs, Traces(database), self.environments, Versions(self.blobs))

    async def release(self, files: dict[str, str], actor: str) -> None:
        await self.deploy(files)
        await self.settle()
        await self.releases.release(ReleaseBody(TargetsBody([NODE])), actor)


@pytest.fixture
async def traced(database: Database) -> AsyncIterator[Traced]:
    made = Traced(database)
    await made.introduce(NODE)
    await made.submit(NODE, {"os": {"family": "Debian"}}, {})
    yield made
    await made.close()


async def test_origin_names_line_version_and_release(traced: Traced) -> None:
    await traced.release(CODE, "person:ann")
    changed = {**CODE, "modules/profile/manifests/init.pp": PROFILE.replace("'hi'", "'ho'")}
    await traced.release(changed, "person:bob")
    await traced.release({**changed, "manifests/site.pp": SITE + "notify { 'x': }\n"}, "person:cyd")
    issue = await traced.origins.find(NODE, "File[/etc/issue]")
    assert (issue.file, issue.line) == ("modules/profile/manifests/init.pp", 3)
    assert issue.text == "file { '/etc/issue': content => 'ho' }"
    assert issue.changed is not None
    assert (issue.changed.number, issue.is_file_older) == (2, False)
    assert (issue.brought.number, issue.brought.released_by, issue.is_older) == (2, "person:bob", False)
    assert issue.brought.version is not None
    assert issue.brought.version.number == 2
    # The file is the same, the resource in it is older.
    motd = await traced.origins.find(NODE, "File[/etc/motd]")
    assert (motd.line, motd.brought.number, motd.brought.released_by, motd.is_older) == (2, 1, "person:ann", False)
    new = await traced.origins.find(NODE, "Notify[x]")
    assert (new.file, new.line, new.brought.number) == ("manifests/site.pp", 2, 3)


async def test_data_that_changed_a_resource_is_found_by_the_release(traced: Traced) -> None:
    hiera = {
        **CODE,
        "modules/profile/manifests/init.pp": "class profile(String $x) {\n  notify { 'n': message => $x }\n}\n",
        "hiera.yaml": "version: 5\nhierarchy:\n  - {name: common, path: common.yaml}\n",
        "data/common.yaml": "profile::x: one\n",
    }
    await traced.release(hiera, "person:ann")
    await traced.release({**hiera, "data/common.yaml": "profile::x: two\n"}, "person:bob")
    origin = await traced.origins.find(NODE, "Notify[n]")
    assert origin.changed is not None
    # The manifest is unchanged since the first version; the release of the second one introduced the value.
    assert origin.changed.number == 1
    assert (origin.brought.number, origin.brought.released_by) == (2, "person:bob")


async def test_origin_in_an_earlier_catalog_is_found(traced: Traced) -> None:
    await traced.release(CODE, "person:ann")
    served = await traced.database.read(traced.catalogs.released.find_served, NODE)
    assert served is not None
    await traced.release({**CODE, "manifests/site.pp": "notify { 'only': }\n"}, "person:bob")
    origin = await traced.origins.find(NODE, "File[/etc/motd]", served.digest)
    assert (origin.brought.number, origin.line) == (1, 2)
    with pytest.raises(NotFoundError) as caught:
        await traced.origins.find(NODE, "File[/etc/motd]")
    assert caught.value.code == "ORIGIN-001"


@pytest.mark.parametrize(("node", "catalog"), [("web2", ""), ("no such\0", ""), (NODE, "0" * 64)])
async def test_catalog_that_was_never_served_has_no_origins(traced: Traced, node: str, catalog: str) -> None:
    await traced.release(CODE, "person:ann")
    with pytest.raises(NotFoundError) as caught:
        await traced.origins.find(node, "File[/etc/motd]", catalog)
    assert caught.value.code == "RELEASE-001"
