"""A site whose master key is lost: its secrets are given up on demand only, and everything is compiled again with new references."""

from collections.abc import AsyncIterator

import pytest

from lab.compile_services import CompileServices, KeyInMemory
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, NotFoundError
from precast.base.ids import CountedIds
from precast.catalog import body as bodies
from precast.catalog.secret_references import references
from precast.services.secrets.lost_keys import LostKeys
from precast.services.secrets.views import SecretViews
from precast.store.engine.database import Database
from precast.store.identity.audit import AuditLog
from precast.store.secrets.keys import KeyHolder, SecretKeys
from precast.wire.catalogs.bodies import ReleaseBody
from precast.wire.nodes.bodies import TargetsBody

CODE = {"manifests/site.pp": "file { '/etc/token': content => Sensitive('hunter22') }"}


@pytest.fixture
async def site(database: Database) -> AsyncIterator[CompileServices]:
    made = CompileServices(database)
    await made.deploy(CODE)
    await made.introduce("web1")
    await made.submit("web1", {"os": 1}, {})
    await made.settle()
    yield made
    await made.close()


def lost_keys(site: CompileServices) -> LostKeys:
    stores = site.secrets, SecretKeys(site.database), site.environments
    return LostKeys(site.database, *stores, site.work, AuditLog(site.database, CountedIds()))


def views(site: CompileServices) -> SecretViews:
    return SecretViews(
        site.database, site.secrets, SecretKeys(site.database), site.catalogs.documents, site.environments
    )


async def find_ref(site: CompileServices) -> str:
    skeleton = (await site.staged("web1")).skeleton
    assert skeleton is not None
    document = await site.catalogs.documents.read(skeleton)
    assert document is not None
    (ref,) = {ref for resource in bodies.decode(document).resources for ref in references(resource.parameters)}
    return ref


async def test_discarding_lost_secrets_compiles_everything_again_with_a_new_key(site: CompileServices) -> None:
    before = await find_ref(site)
    assert await lost_keys(site).discard() == {"production": 1}
    renewed = CompileServices(site.database, master=KeyInMemory(b"2" * 32))
    try:
        assert await renewed.settle() == 1
        after = await find_ref(renewed)
        assert after != before
        assert await renewed.secret_values.open_values("production", [before]) == []
        (value,) = await renewed.secret_values.open_values("production", [after])
        assert value.value == b'"hunter22"'
    finally:
        await renewed.close()


async def test_secrets_of_running_servers_are_not_discarded(site: CompileServices, clock: ManualClock) -> None:
    keys = SecretKeys(site.database)
    await site.database.write(keys.announce, "server-1", KeyHolder("alpha", ("0" * 12,)))
    with pytest.raises(ConflictError, match="alpha"):
        await lost_keys(site).discard()
    assert len(await site.secret_values.open_values("production", [await find_ref(site)])) == 1
    clock.advance(61)
    await lost_keys(site).discard()


async def test_views_show_references_with_their_parameters_and_nodes(site: CompileServices) -> None:
    ref = await find_ref(site)
    (row,) = await views(site).list_page("production", "", 10)
    assert (row.ref, row.catalogs) == (ref, 1)
    assert await views(site).list_page("production", ref, 10) == []
    with pytest.raises(NotFoundError, match="there is no environment test"):
        await views(site).list_page("test", "", 10)
    shown = await views(site).show("production", ref[:6])
    assert (shown.ref, shown.parameters, shown.is_complete) == (ref, ["File[/etc/token] content"], True)
    assert [(user.node, user.state) for user in shown.nodes] == [("web1", "staged")]
    await site.releases.release(ReleaseBody(TargetsBody([], all=True)), "person:a")
    await site.deploy({"manifests/site.pp": "notify { 'x': }"})
    await site.settle()
    shown = await views(site).show("production", ref)
    assert [(user.node, user.state) for user in shown.nodes] == [("web1", "served")]


@pytest.mark.parametrize("beginning", ["", "0", "zzzzzz", "0" * 64, "0" * 65, "000000\0", "ABCDEF", "%"])
async def test_unknown_or_short_reference_is_not_found(site: CompileServices, beginning: str) -> None:
    with pytest.raises(NotFoundError):
        await views(site).show("production", beginning)
    with pytest.raises(NotFoundError):
        await views(site).show("test", await find_ref(site))
    if beginning not in ("", "0" * 64):
        with pytest.raises(NotFoundError):
            await views(site).list_page("production", beginning, 10)
