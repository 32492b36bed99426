"""Secrets in exported resources, on both databases: rows hold references, collectors get the value and a reference of their own."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from lab.export_site import ExportSite
from precast.catalog.secret_references import REFERENCE, SENSITIVE
from precast.store.engine.database import Database
from precast.store.exports import resources

CODE = """
if $facts['role'] == 'web' {
  $host = $facts['networking']['hostname']
  @@file { "/etc/keys/${host}": content => Sensitive("key of ${host} at ${facts['networking']['ip']}") }
  @@notify { "of ${host}": message => ['a', Sensitive('4711')] }
} else {
  File <<| |>>
  Notify <<| |>>
}
"""


@pytest.fixture
async def site(database: Database) -> AsyncIterator[ExportSite]:
    made = ExportSite(database)
    await made.deploy({"manifests/site.pp": CODE})
    await made.deploy({"manifests/site.pp": CODE}, "other")
    yield made
    await made.close()


async def open_all(site: ExportSite, environment: str, data: Any) -> list[bytes]:
    return [value.value for value in await site.secret_values.open_values(environment, [data["__pvalue"]])]


async def test_collector_gets_the_value_and_a_reference_of_its_own(site: ExportSite) -> None:
    await site.join("mon1", "monitor")
    await site.join("web1", "web", "10.0.0.7")
    await site.settle()
    await site.release("web1")
    await site.settle()
    rows = await site.database.read(resources.find_of_nodes, ["web1"], "released")
    assert len(rows) == 2
    assert all(b"key of" not in row.body and b"4711" not in row.body for row in rows)
    content = (await site.collected("mon1", "File", "content"))["/etc/keys/web1"]
    assert content["__ptype"] == REFERENCE
    assert await open_all(site, "production", content) == [b'"key of web1 at 10.0.0.7"']
    message = (await site.collected("mon1"))["of web1"]
    assert message[1]["__ptype"] == SENSITIVE
    assert await open_all(site, "production", message[1]["__pvalue"]) == [b'"4711"']


async def test_changed_secret_compiles_the_collector_again(site: ExportSite) -> None:
    await site.join("mon1", "monitor")
    await site.join("web1", "web")
    await site.settle()
    await site.release("web1")
    await site.settle()
    first = await site.collected("mon1", "File", "content")
    await site.deploy({"manifests/site.pp": CODE.replace("key of", "new key of")})
    await site.settle()
    await site.release("web1")
    assert await site.settle() == 1
    assert await site.collected("mon1", "File", "content") != first


async def test_secret_of_another_environment_has_the_key_of_the_collectors_environment(site: ExportSite) -> None:
    await site.set_exports("production", "everywhere")
    await site.join("mon1", "monitor")
    await site.join("web1", "web")
    await site.move("web1", "other")
    await site.settle()
    await site.release("web1")
    await site.settle()
    content = (await site.collected("mon1", "File", "content"))["/etc/keys/web1"]
    assert await open_all(site, "production", content) == [b'"key of web1 at 10.0.0.1"']
    assert await open_all(site, "other", content) == []
