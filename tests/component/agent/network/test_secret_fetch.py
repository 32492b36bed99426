"""Values of secrets on their way to a node: over real TLS, checked, cached before the catalog that names them, and deleted after it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.catalog_server import CatalogServer
from precast.agent.catalog import cached_secrets, entry_catalog
from precast.agent.catalog.cached_catalog import catalog_path
from precast.agent.catalog.cached_secrets import read_values
from precast.agent.catalog.entry_catalog import KEPT, delete_old_entries, fetch_entry_catalog, read_entry_catalog
from precast.agent.catalog.fetch import RESTARTS, fetch
from precast.agent.identity.credentials import Credentials
from precast.agent.network.http_client import DirectHttp
from precast.agent.network.request_process import network_client
from precast.agent.state import paths
from precast.base import digests
from precast.base.errors import ConflictError, DeniedError, PrecastError
from precast.wire.secrets.delivery import MAX_REFERENCES, SecretsBody, SecretValue


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CatalogServer]:
    (tmp_path / "site").mkdir()
    with CatalogServer(tmp_path / "site") as made:
        release(made)
        yield made


def catalog_of(server: CatalogServer, *secrets: Any) -> bytes:
    resources = [
        {"type": "File", "title": f"/{number}", "parameters": {"content": server.put_secret(value)}}
        for number, value in enumerate(secrets)
    ]
    return msgspec.json.encode({"resources": resources})


def release(server: CatalogServer, *secrets: Any) -> str:
    server.catalog = catalog_of(server, *secrets)
    server.sequence += 1
    return digests.of_bytes(server.catalog)


def get(server: CatalogServer) -> str:
    return fetch(server.root, server.url, DirectHttp(Credentials(server.root).context())).digest


def directory(server: CatalogServer) -> Path:
    return server.root / paths.STATE


def cached(server: CatalogServer, where: Path | None = None) -> set[Any]:
    return {msgspec.json.decode(value.value) for value in read_values(where or directory(server)).values()}


def questions(server: CatalogServer) -> list[str]:
    asked = [path for path in server.asked if path.startswith("/v1/secrets")]
    server.asked.clear()
    return asked


def test_values_are_cached_in_a_file_that_only_root_can_read(server: CatalogServer) -> None:
    release(server, "hunter2", 1234)
    get(server)
    assert cached(server) == {"hunter2", 1234}
    path = directory(server) / paths.SECRETS
    assert (path.stat().st_mode & 0o777, path.stat().st_uid) == (0o600, os.getuid())
    assert b"hunter2" not in catalog_path(server.root).read_bytes()
    assert not (directory(server) / paths.NEXT_SECRETS).exists()


def test_process_that_has_values_leaves_no_core_dump(server: CatalogServer) -> None:
    release(server, "hunter2")
    script = (
        "import ctypes, sys; from pathlib import Path; from precast.agent.catalog.cached_secrets import read_values\n"
        "dumpable = lambda: ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)\n"
        "print(dumpable(), len(read_values(Path(sys.argv[1]))), dumpable())"
    )
    get(server)
    command = [sys.executable, "-c", script, str(directory(server))]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert told.split() == ["1", "1", "0"]


def test_only_values_that_are_not_cached_are_asked_for_and_the_others_leave_the_node(server: CatalogServer) -> None:
    release(server, "a", "b")
    get(server)
    assert questions(server) == ["/v1/secrets 2"]
    release(server, "b", "c")
    get(server)
    assert questions(server) == ["/v1/secrets 1"]
    assert cached(server) == {"b", "c"}
    get(server)
    assert questions(server) == []
    release(server)
    get(server)
    assert not (directory(server) / paths.SECRETS).exists()


def test_rollback_brings_the_values_back(server: CatalogServer) -> None:
    release(server, "old")
    get(server)
    release(server, "new")
    get(server)
    assert cached(server) == {"new"}
    release(server, "old")
    get(server)
    assert cached(server) == {"old"}


def test_many_values_come_in_several_answers(server: CatalogServer) -> None:
    server.values_at_once = 300
    release(server, *range(MAX_REFERENCES + 100))
    get(server)
    assert cached(server) == set(range(MAX_REFERENCES + 100))
    # 300 of 500, the other 200 with the last 100, which all fit.
    assert questions(server) == ["/v1/secrets 500", "/v1/secrets 300"]


@pytest.mark.parametrize("damage", ["deleted", "emptied", "cut off", "changed", "readable by all"])
def test_damaged_file_is_made_whole_by_the_next_fetch(server: CatalogServer, damage: str) -> None:
    release(server, "a", "b")
    get(server)
    path = directory(server) / paths.SECRETS
    data = path.read_bytes()
    if damage == "deleted":
        path.unlink()
    elif damage == "readable by all":
        path.chmod(0o644)
    else:
        changed = msgspec.json.decode(data)
        changed["values"][0]["value"] = "IngiIg=="
        path.write_bytes({"emptied": b"", "cut off": data[:-9], "changed": msgspec.json.encode(changed)}[damage])
    get(server)
    assert path.read_bytes() == data
    assert path.stat().st_mode & 0o777 == 0o600


def falsify(**changes: Any) -> Callable[[SecretValue], SecretValue]:
    return lambda value: msgspec.structs.replace(value, **changes)


@pytest.mark.parametrize(
    "change",
    [falsify(value=b'"evil"'), falsify(salt=b"0" * 32), falsify(ref="0" * 64)],
    ids=["other value", "other salt", "not asked for"],
)
def test_value_that_its_reference_does_not_name_is_refused_and_nothing_is_cached(
    server: CatalogServer, change: Callable[[SecretValue], SecretValue]
) -> None:
    get(server)
    before = catalog_path(server.root).read_bytes()
    release(server, "good")
    server.secrets = {ref: change(value) for ref, value in server.secrets.items()}
    with pytest.raises(DeniedError, match="the value of a secret that the server sent") as raised:
        get(server)
    assert raised.value.code == "AGENT-017"
    assert catalog_path(server.root).read_bytes() == before
    assert cached(server) == set()


def test_answer_without_values_ends_the_fetch(server: CatalogServer) -> None:
    release(server, "good")
    server.values_at_once = 0
    with pytest.raises(DeniedError, match="no value of a secret"):
        get(server)


# Releases in between.


def test_release_between_catalog_and_values_starts_the_fetch_again(server: CatalogServer) -> None:
    release(server, "first")
    newer: list[str] = []

    def release_another(body: SecretsBody) -> None:
        if not newer:
            newer.append(release(server, "second"))

    server.before_secrets = release_another
    assert get(server) == newer[0]
    assert catalog_path(server.root).read_bytes() == server.catalog
    assert cached(server) == {"second"}


def test_release_between_two_pages_of_values_starts_the_fetch_again(server: CatalogServer) -> None:
    server.values_at_once = 1
    release(server, "a", "b")

    def release_another(body: SecretsBody) -> None:
        if len(body.refs) == 1:
            server.before_secrets = lambda _: None
            release(server, "b", "c")

    server.before_secrets = release_another
    get(server)
    assert cached(server) == {"b", "c"}


def test_fetch_gives_up_if_there_is_always_another_release_and_the_cached_catalog_stays(server: CatalogServer) -> None:
    release(server, "old")
    get(server)
    questions(server)
    before = catalog_path(server.root).read_bytes()
    count = iter(range(1000))

    def release_another(body: SecretsBody) -> None:
        release(server, f"new {next(count)}")

    server.before_secrets = release_another
    release(server, "new")
    with pytest.raises(ConflictError) as raised:
        get(server)
    assert raised.value.code == "RELEASE-007"
    assert len(questions(server)) == RESTARTS + 1
    assert catalog_path(server.root).read_bytes() == before
    assert cached(server) == {"old"}


def test_catalog_without_secrets_asks_for_none(server: CatalogServer) -> None:
    get(server)
    assert questions(server) == []


# Catalogs of entry points.


def get_entry(server: CatalogServer, version: str) -> bool:
    client = DirectHttp(Credentials(server.root).context())
    return fetch_entry_catalog(server.root, [server.url], client, "site.pp", version, now=datetime.now(UTC))


def test_entry_catalog_has_its_values_beside_it_and_loses_them_with_it(server: CatalogServer) -> None:
    release(server, "released")
    get(server)
    version = server.put_entry("site.pp", catalog_of(server, "of the entry"))
    assert get_entry(server, version)
    _, values = read_entry_catalog(server.root, "site.pp", version)
    assert [value.value for value in values.values()] == [b'"of the entry"']
    (path,) = (server.root / entry_catalog.DIRECTORY).glob(f"*/{paths.SECRETS}")
    assert path.stat().st_mode & 0o777 == 0o600
    # Neither cache touches the values of the other.
    get(server)
    assert cached(server) == {"released"}
    assert not get_entry(server, version)
    delete_old_entries(server.root, datetime.now(UTC) + KEPT - timedelta(minutes=1))
    assert path.exists()
    delete_old_entries(server.root, datetime.now(UTC) + KEPT + timedelta(minutes=1))
    assert not list((server.root / entry_catalog.DIRECTORY).rglob(paths.SECRETS))


def test_entry_catalog_that_has_lost_a_value_is_fetched_again(server: CatalogServer) -> None:
    version = server.put_entry("site.pp", catalog_of(server, "x"))
    get_entry(server, version)
    (path,) = (server.root / entry_catalog.DIRECTORY).glob(f"*/{paths.SECRETS}")
    path.unlink()
    assert get_entry(server, version)
    assert cached(server, path.parent) == {"x"}


def test_values_of_an_entry_that_the_node_may_not_fetch_are_an_error(server: CatalogServer) -> None:
    version = server.put_entry("site.pp", catalog_of(server, "x"))
    server.before_secrets = lambda body: server.entries.clear()
    with pytest.raises(PrecastError):
        get_entry(server, version)
    assert not list((server.root / entry_catalog.DIRECTORY).rglob(paths.CATALOG))


def test_file_of_values_is_never_written_with_a_wider_mode(server: CatalogServer) -> None:
    before = os.umask(0)
    try:
        cached_secrets.add_values(directory(server), [SecretValue("0" * 64, b"s" * 32, b"1")])
    finally:
        os.umask(before)
    assert (directory(server) / paths.SECRETS).stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_network_process_that_has_passed_values_on_can_keep_them_nowhere(server: CatalogServer) -> None:
    release(server, "hunter2")
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = children.read_text().split()
    with network_client(Credentials(server.root).context(), "precast-agent") as client:
        (child,) = set(children.read_text().split()) - set(before)
        fetch(server.root, server.url, client)
        assert cached(server) == {"hunter2"}
        status = dict(line.split(":", 1) for line in Path(f"/proc/{child}/status").read_text().splitlines())
        assert status["Seccomp"].strip() == "2"
        assert status["Uid"].split()[0] != "0"
        files = [path.readlink() for path in Path(f"/proc/{child}/fd").iterdir()]
        assert not [path for path in files if path.is_relative_to(server.root)]
    assert not Path(f"/proc/{child}").exists(), "it ends with the fetch"
