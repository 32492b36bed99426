"""The client of Vault over real TLS, against the stand-in for its API in lab/vault_server.py, in each state that Vault documents."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from lab.certificates import TestAuthority
from lab.vault_server import ROLE_ID, SECRET_ID, VaultServer
from precast.api.http.outgoing import HttpsOrigin
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.services.secrets.sources.configuration import SourceSettings
from precast.services.secrets.sources.vault import VaultSource

TOKEN = "hvs.static-token"


class Site:
    """A Vault, and the files that a server has for it."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.clock = directory, ManualClock()
        self.vault = VaultServer(directory, self.clock)
        self.origins: list[HttpsOrigin] = []
        for name, text in (("token", TOKEN), ("role", ROLE_ID), ("secret", SECRET_ID)):
            self.write(name, text)

    def write(self, name: str, text: str, mode: int = 0o600) -> str:
        path = self.directory / name
        path.write_text(f"{text}\n")
        path.chmod(mode)
        return str(path)

    def source(self, *, approle: bool = False, timeout_s: float = 20.0, ca: str = "", **given: Any) -> VaultSource:
        login = {"role_id_file": str(self.directory / "role"), "secret_id_file": str(self.directory / "secret")}
        given |= login if approle else {"token_file": str(self.directory / "token")}
        settings = SourceSettings("vault", {}, url=self.vault.url, **given)
        origin = HttpsOrigin(self.vault.url, ca or str(self.vault.ca), timeout_s)
        self.origins.append(origin)
        return VaultSource("vault", settings, origin.request, self.clock)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    made = Site(tmp_path)
    async with made.vault:
        made.vault.add_token(TOKEN)
        made.vault.put("secret", "app/db", {"password": "hunter2", "port": 5432})
        made.vault.put("kv", "app/db", {"password": "first"})
        yield made
        for origin in made.origins:
            await origin.close()


async def refused(reading: Awaitable[object]) -> str:
    """What the error says. It contains no value and no login."""
    with pytest.raises(PrecastError) as caught:
        await reading
    assert caught.value.code == "SECRET-021"
    assert not any(secret in caught.value.message for secret in ("hunter2", TOKEN, SECRET_ID, ROLE_ID))
    return caught.value.message


async def test_both_versions_of_the_engine_give_fields_and_the_lease_of_the_first(site: Site) -> None:
    document = await site.source().read("production", "app/db")
    assert document is not None
    assert (dict(document.fields), document.lease_s) == ({"password": "hunter2", "port": 5432}, None)
    first = await site.source(mount="kv", version=1).read("production", "app/db")
    assert first is not None
    assert (first.fields["password"], first.lease_s) == ("first", 2_764_800)


async def test_path_is_escaped(site: Site) -> None:
    site.vault.put("secret", "a b?/ü#", {"x": 1})
    document = await site.source().read("production", "a b?/ü#")
    assert document is not None
    assert document.fields == {"x": 1}


async def test_absent_and_deleted_secrets_are_absent(site: Site) -> None:
    assert await site.source().read("production", "nothing") is None
    site.vault.deleted.add(("", "secret", "app/db"))
    assert await site.source().read("production", "app/db") is None
    assert await site.source(mount="kv", version=1).read("production", "nothing") is None


async def test_missing_mount_is_no_absent_secret(site: Site) -> None:
    assert "no handler for route" in await refused(site.source(mount="nowhere").read("production", "app/db"))


async def test_wrong_version_of_the_engine_is_named(site: Site) -> None:
    assert "Invalid path for a versioned K/V" in await refused(site.source(version=1).read("production", "app/db"))


async def test_namespace_is_sent_and_an_unknown_one_is_an_error(site: Site) -> None:
    site.vault.namespaces.add("team")
    site.vault.put("secret", "app/db", {"password": "of the team"}, "team")
    document = await site.source(namespace="team").read("production", "app/db")
    assert document is not None
    assert document.fields == {"password": "of the team"}
    assert "no handler" in await refused(site.source(namespace="nowhere").read("production", "app/db"))


@pytest.mark.parametrize(
    ("state", "said"),
    [({"sealed": True}, "sealed"), ({"limiting": True}, "limits the number of requests")],
)
async def test_vault_that_answers_none_is_not_taken_for_an_empty_one(
    site: Site, state: dict[str, bool], said: str
) -> None:
    source = site.source()
    await source.maintain()
    for name, value in state.items():
        setattr(site.vault, name, value)
    assert said in await refused(source.read("production", "app/db"))
    for name in state:
        setattr(site.vault, name, False)
    assert await source.read("production", "app/db") is not None


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (web.Response(status=500, text='{"errors": ["internal error"]}'), "500: internal error"),
        (web.Response(status=502, text="<html>bad gateway</html>"), "not the JSON of Vault (502)"),
        (web.Response(status=404), "it answered 404"),
        (web.Response(status=404, text="{}"), "it answered 404"),
        (web.Response(status=472, text="{}"), "disaster recovery"),
        (web.Response(status=473, text="{}"), "performance standby"),
        (web.Response(status=200, text="[1]"), "not the JSON of Vault"),
        (web.Response(status=200, text='{"data": 1}'), "without the fields"),
        (web.Response(status=200, text='{"data": {"data": {"a": "\\ud800"}}}'), "not the JSON of Vault"),
        (web.Response(status=200, text="[" * 100_000), "not the JSON of Vault"),
    ],
)
async def test_unusable_responses_are_errors(site: Site, response: web.Response, said: str) -> None:
    source = site.source()
    await source.maintain()
    site.vault.raw = response
    assert said in await refused(source.read("production", "app/db"))


async def test_response_that_is_too_long_is_cut_off(site: Site) -> None:
    source = site.source()
    await source.maintain()
    site.vault.long = True
    assert "more than 1048576 bytes" in await refused(source.read("production", "app/db"))


async def test_request_has_a_deadline_as_a_whole(site: Site) -> None:
    site.vault.stuck = asyncio.Event()
    assert "within 0.2 s" in await refused(site.source(timeout_s=0.2).read("production", "app/db"))


async def test_vault_that_is_gone_is_an_error(site: Site) -> None:
    source = site.source()
    await site.vault.__aexit__()
    assert "does not answer" in await refused(source.read("production", "app/db"))
    await site.vault.__aenter__()


async def test_certificate_of_another_authority_is_refused_before_the_token_is_sent(site: Site, tmp_path: Path) -> None:
    other = TestAuthority(tmp_path / "other")
    said = await refused(site.source(ca=str(other.certificate)).read("production", "app/db"))
    assert "certificate is not trusted" in said
    assert site.vault.requests == []


async def test_standby_leads_to_the_active_node_once_and_only_by_https(site: Site, tmp_path: Path) -> None:
    async with VaultServer(tmp_path / "standby") as standby:
        standby.active_url = site.vault.url
        both = tmp_path / "both.pem"
        both.write_bytes(site.vault.ca.read_bytes() + standby.ca.read_bytes())
        settings = SourceSettings("vault", {}, url=standby.url, token_file=str(tmp_path / "token"))
        origin = HttpsOrigin(standby.url, str(both), 20.0)
        source = VaultSource("vault", settings, origin.request, site.clock)
        try:
            assert await source.read("production", "app/db") is not None
            standby.active_url = standby.url
            assert "307" in await refused(source.read("production", "app/db"))
            standby.active_url = site.vault.url.replace("https", "http")
            assert "not https" in await refused(source.read("production", "app/db"))
        finally:
            await origin.close()


async def test_forbidden_path_is_an_error_that_names_what_vault_said(site: Site) -> None:
    site.vault.add_token(TOKEN, "secret/data/other")
    assert "403: 1 error occurred: * permission denied" in await refused(site.source().read("production", "app/db"))


async def test_token_that_is_not_accepted_is_an_error(site: Site) -> None:
    site.write("token", "hvs.unknown")
    assert "does not accept the token" in await refused(site.source().read("production", "app/db"))


async def test_renewable_token_is_renewed_when_two_thirds_of_its_time_are_over(site: Site) -> None:
    site.vault.add_token(TOKEN, lease_s=900, is_renewable=True)
    source = site.source()
    for _ in range(5):
        assert await source.read("production", "app/db") is not None
        site.clock.advance(601)
        await source.maintain()
    assert site.vault.requests.count("POST /v1/auth/token/renew-self") == 5
    site.clock.advance(901)
    assert "does not accept the token" in await refused(source.read("production", "app/db"))


async def test_new_token_in_the_file_is_used_at_once(site: Site) -> None:
    source = site.source()
    assert await source.read("production", "app/db") is not None
    del site.vault.tokens[TOKEN]
    assert "permission denied" in await refused(source.read("production", "app/db"))
    site.vault.add_token("hvs.new")
    site.write("token", "hvs.new")
    assert await source.read("production", "app/db") is not None


async def test_approle_logs_in_once_for_many_readers(site: Site) -> None:
    source = site.source(approle=True)
    await asyncio.gather(*(source.read("production", "app/db") for _ in range(10)))
    assert site.vault.requests.count("POST /v1/auth/approle/login") == 1
    assert site.vault.requests.count("GET /v1/secret/data/app/db") == 10


async def test_approle_renews_and_logs_in_again_when_its_token_has_ended_or_is_revoked(site: Site) -> None:
    site.vault.role_lease_s = 900
    source = site.source(approle=True)
    assert await source.read("production", "app/db") is not None
    site.clock.advance(700)
    assert await source.read("production", "app/db") is not None
    assert site.vault.requests.count("POST /v1/auth/token/renew-self") == 1
    site.clock.advance(5_000)
    assert await source.read("production", "app/db") is not None
    site.vault.tokens.clear()
    assert await source.read("production", "app/db") is not None
    assert site.vault.requests.count("POST /v1/auth/approle/login") == 3


async def test_path_that_approle_may_not_read_is_asked_for_twice_and_no_more(site: Site) -> None:
    site.vault.role_prefixes = ("secret/data/other",)
    assert "permission denied" in await refused(site.source(approle=True).read("production", "app/db"))
    assert site.vault.requests.count("GET /v1/secret/data/app/db") == 2


async def test_wrong_secret_id_is_an_error(site: Site) -> None:
    site.write("secret", "wrong")
    said = await refused(site.source(approle=True).read("production", "app/db"))
    assert "login by AppRole failed: it answered 400: invalid role or secret ID" in said


@pytest.mark.parametrize(("name", "mode"), [("token", 0o644), ("token", 0o620)])
async def test_login_that_others_may_read_is_not_used(site: Site, name: str, mode: int) -> None:
    site.write(name, TOKEN, mode)
    assert "mode must be 0600" in await refused(site.source().read("production", "app/db"))
    assert site.vault.requests == []


async def test_missing_login_is_an_error(site: Site) -> None:
    (site.directory / "token").unlink()
    assert "does not exist" in await refused(site.source().read("production", "app/db"))
