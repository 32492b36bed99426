"""Catalogs of entry points on a node: fetched with real TLS, verified when they are fetched and read, apart from the released catalog."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.catalog_server import CatalogServer
from precast.agent.catalog.entry_catalog import (
    CONTENT,
    DIRECTORY,
    KEPT,
    fetch_entry_catalog,
    is_cached,
    read_entry_catalog,
)
from precast.agent.catalog.fetch import fetch
from precast.agent.identity.credentials import Credentials
from precast.agent.network.http_client import DirectHttp
from precast.agent.state.life import life_path
from precast.base.errors import ConflictError, DeniedError, NotFoundError, PrecastError

ENTRY = "modules/osnailyfacter/examples/hosts & others.pp"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CatalogServer]:
    (tmp_path / "site").mkdir()
    with CatalogServer(tmp_path / "site") as made:
        yield made


def client(server: CatalogServer) -> DirectHttp:
    return DirectHttp(Credentials(server.root).context())


def offer(server: CatalogServer, *contents: bytes, entry: str = ENTRY, plugin: bytes = b"") -> str:
    named = {f"puppet:///modules/m/{number}": server.put(data) for number, data in enumerate(contents)}
    if plugin:
        named["precast:///modules/m/facts/a.py"] = server.put(plugin)
    return server.put_entry(entry, msgspec.json.encode({"resources": [], "content": named}))


def get(server: CatalogServer, version: str, entry: str = ENTRY, now: datetime | None = None, **options: Any) -> bool:
    urls = options.pop("urls", [server.url])
    now = now or datetime.now(UTC)
    return fetch_entry_catalog(server.root, urls, client(server), entry, version, now=now, **options)


def cached_contents(server: CatalogServer) -> set[bytes]:
    return {path.read_bytes() for path in (server.root / CONTENT).iterdir()}


def test_entry_catalog_is_cached_with_its_contents_and_only_root_may_read_it(server: CatalogServer) -> None:
    version = offer(server, b"one", b"two")
    assert get(server, version)
    assert read_entry_catalog(server.root, ENTRY, version) == (server.entries[version, ENTRY], {})
    assert cached_contents(server) == {b"one", b"two"}
    modes = {
        path.stat().st_mode & 0o077 for path in [server.root / DIRECTORY, *(server.root / DIRECTORY).rglob("*.json")]
    }
    assert modes == {0}


def test_cached_entry_catalog_is_not_asked_for_again_even_if_no_server_answers(server: CatalogServer) -> None:
    version = offer(server, b"one")
    get(server, version)
    asked = list(server.asked)
    assert not get(server, version, urls=["https://127.0.0.1:1"])
    assert server.asked == asked


def test_another_server_is_asked_if_one_does_not_answer(server: CatalogServer) -> None:
    version = offer(server, b"one")
    assert get(server, version, urls=["https://127.0.0.1:1", server.url])
    other = offer(server, b"two")
    with pytest.raises(PrecastError) as raised:
        get(server, other, urls=["https://127.0.0.1:1", "https://127.0.0.1:1"])
    assert raised.value.code == "HTTP-002"


def test_catalog_that_is_not_cached_is_an_error_with_the_next_step(server: CatalogServer) -> None:
    version = offer(server)
    get(server, version)
    with pytest.raises(NotFoundError, match=r"of the entry point other\.pp is not cached") as raised:
        read_entry_catalog(server.root, "other.pp", version)
    assert raised.value.code == "AGENT-024"
    assert not is_cached(server.root, ENTRY, "0" * 64)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"entry": ""}, "it is of a release, not of the entry point"),
        ({"entry": "other.pp"}, "it is of the entry point other.pp, not of the entry point"),
        ({"node": "web2"}, "it is for web2"),
        ({"digest": "0" * 64}, "it names the catalog 000000000000"),
    ],
)
def test_pointer_that_is_not_of_this_entry_node_and_catalog_is_refused(
    server: CatalogServer, changes: dict[str, Any], reason: str
) -> None:
    version = offer(server, b"one")
    server.changes = changes
    with pytest.raises(DeniedError, match=reason) as raised:
        get(server, version)
    assert raised.value.code == "AGENT-019"
    assert not is_cached(server.root, ENTRY, version)


def test_server_that_sends_another_version_than_the_task_names_is_refused(server: CatalogServer) -> None:
    other = offer(server, b"other")
    server.entries["1" * 64, ENTRY] = server.entries[other, ENTRY]
    with pytest.raises(DeniedError, match=f"it names the catalog {other[:12]}, and the task 111111111111"):
        get(server, "1" * 64)


def test_pointer_of_an_entry_point_is_refused_where_a_release_is_expected(server: CatalogServer) -> None:
    server.changes = {"entry": ENTRY}
    with pytest.raises(DeniedError, match=r"it is of the entry point .*, not of a release"):
        fetch(server.root, server.url, client(server))


def test_cached_file_that_was_changed_is_refused(server: CatalogServer) -> None:
    version = offer(server, b"one")
    get(server, version)
    (path,) = (server.root / DIRECTORY).glob("*/catalog.json")
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(DeniedError, match="it names the catalog"):
        read_entry_catalog(server.root, ENTRY, version)
    assert get(server, version)  # fetched again
    path.with_name("release.json").write_bytes(b"{}")
    with pytest.raises(DeniedError, match="cannot be read"):
        read_entry_catalog(server.root, ENTRY, version)


def test_content_that_does_not_have_its_digest_is_refused_and_the_catalog_is_not_cached(server: CatalogServer) -> None:
    version = offer(server, b"good")
    server.contents = dict.fromkeys(server.contents, b"evil")
    with pytest.raises(DeniedError) as raised:
        get(server, version)
    assert raised.value.code == "AGENT-017"
    assert not is_cached(server.root, ENTRY, version)


def test_name_that_is_no_digest_is_refused_before_a_server_is_asked(server: CatalogServer) -> None:
    with pytest.raises(DeniedError):
        get(server, "../../policy")
    assert server.asked == []


def test_plugins_are_not_fetched(server: CatalogServer) -> None:
    get(server, offer(server, b"one", plugin=b"def facts(): ..."))
    assert cached_contents(server) == {b"one"}


def test_fetch_of_the_released_catalog_keeps_the_catalogs_of_entry_points(server: CatalogServer) -> None:
    version = offer(server, b"one")
    get(server, version)
    fetch(server.root, server.url, client(server))
    assert is_cached(server.root, ENTRY, version)
    assert cached_contents(server) == {b"one"}


def test_old_catalog_is_deleted_with_the_contents_that_only_it_names(server: CatalogServer) -> None:
    old, used = offer(server, b"old", b"common"), offer(server, b"used", b"common", entry="used.pp")
    get(server, old)
    get(server, used, "used.pp")
    past = (datetime.now(UTC) - KEPT - timedelta(minutes=1)).timestamp()
    for path in (server.root / DIRECTORY).iterdir():
        os.utime(path, (past, past))
    read_entry_catalog(server.root, "used.pp", used)
    get(server, offer(server, b"new"))
    assert not is_cached(server.root, ENTRY, old)
    assert is_cached(server.root, "used.pp", used)
    assert cached_contents(server) == {b"used", b"common", b"new"}


def test_nothing_is_cached_for_a_life_that_has_ended(server: CatalogServer) -> None:
    version = offer(server)
    life_path(server.root).write_text("new")
    with pytest.raises(ConflictError) as raised:
        get(server, version, life="old")
    assert raised.value.code == "AGENT-023"
    assert not is_cached(server.root, ENTRY, version)
