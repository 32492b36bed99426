"""A fetch is killed at each system call that writes: the node has a catalog with all values that it names, and the next fetch finishes.

strace kills the process before it makes a call for the nth time, for each call and for n from 1 until a fetch is not killed.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from lab.catalog_server import CatalogServer
from precast.agent.catalog.cached_catalog import catalog_path
from precast.agent.catalog.filled_catalog import read_with_values
from precast.agent.catalog.release_check import check_cached_catalog
from precast.agent.state import paths
from precast.catalog.document import unseal
from precast.catalog.secret_values import find_references

pytestmark = pytest.mark.needs("strace")

CALLS = ("fsync", "rename", "unlink", "write", "openat", "flock")
# Of these, only calls with one of the agent's files can matter.
OF_FILES = ("write", "openat")
SCRIPT = """
import sys
from pathlib import Path
from precast.agent.catalog.fetch import fetch
from precast.agent.identity.credentials import Credentials
from precast.agent.network.http_client import DirectHttp

root = Path(sys.argv[1])
fetch(root, sys.argv[2], DirectHttp(Credentials(root).context()))
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CatalogServer]:
    (tmp_path / "site").mkdir()
    with CatalogServer(tmp_path / "site") as made:
        yield made


def release(server: CatalogServer, *secrets: str) -> None:
    resources = [{"type": "Notify", "title": given, "parameters": {"x": server.put_secret(given)}} for given in secrets]
    server.catalog = msgspec.json.encode({"resources": resources})
    server.sequence += 1


def run(server: CatalogServer, *tracer: str) -> int:
    command = [*tracer, sys.executable, "-c", SCRIPT, str(server.root), server.url]
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode


def tracer(server: CatalogServer, call: str, number: int) -> list[str]:
    command = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}"]
    if call in OF_FILES:
        directory = server.root / paths.STATE
        names = (paths.SECRETS, paths.NEXT_SECRETS, paths.CATALOG, paths.NEXT_RELEASE)
        command += [word for name in names for word in ("-P", str(directory / name))]
    return [*command, "-e", f"inject={call}:signal=KILL:when={number}"]


def cached(server: CatalogServer) -> set[str]:
    """The values that the node has, after a check that it has all that its catalog names, and the catalog's pointer."""
    catalog, values = read_with_values(server.root)
    check_cached_catalog(server.root, catalog, 0)
    assert find_references(unseal(catalog, "it").body) <= values.keys()
    return {msgspec.json.decode(value.value) for value in values.values()}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("call", CALLS)
def test_fetch_killed_at_any_call_leaves_a_catalog_with_its_values_and_the_next_fetch_finishes(
    server: CatalogServer, call: str
) -> None:
    release(server, "old", "both")
    assert run(server) == 0
    kills = 0
    while True:
        other = "new" if kills % 2 == 0 else "old"
        release(server, other, "both")
        is_killed = run(server, *tracer(server, call, kills + 1)) != 0
        assert cached(server) >= {"both"}
        assert run(server) == 0
        assert cached(server) == {other, "both"}
        assert catalog_path(server.root).read_bytes() == server.catalog
        assert not (server.root / paths.STATE / paths.NEXT_SECRETS).exists()
        if not is_killed:
            break
        kills += 1
    assert kills, f"a fetch does not call {call} any more"
