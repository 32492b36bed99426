"""Runs apply only the catalog that was released to their node: a real server, real nodes, and an attacker with write access to caches."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.server_process import PRECAST
from lab.site import Site

pytestmark = pytest.mark.timeout(240)

NAMES = ("web1", "web2")
PAIR = ("catalog.json", "release.json")


class Fleet:
    """A site with two nodes that fetch and apply when a test says so."""

    def __init__(self, site: Site, directory: Path) -> None:
        self.site, self.code = site, directory / "code"
        (self.code / "manifests").mkdir(parents=True)
        for name in NAMES:
            site.enrol(name)
            (self.root(name) / "etc").mkdir()
            self.run(name, "facts")

    def root(self, name: str) -> Path:
        return self.site.directory / "nodes" / name

    def cached(self, name: str) -> list[Path]:
        return [self.root(name) / "var/lib/precast/agent" / file for file in PAIR]

    def release(self, text: str) -> None:
        manifest = f"file {{ '/etc/motd': content => \"{text} on ${{trusted['certname']}}\\n\" }}\n"
        (self.code / "manifests/site.pp").write_text(manifest)
        self.site.run("env", "deploy", "production", "--from", str(self.code))
        self.site.run("release", *NAMES, "--wait")

    def run(self, name: str, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [PRECAST, "agent", *words, "--root", str(self.root(name))]
        return subprocess.run(
            command, env=self.site.environment, capture_output=True, text=True, check=False, timeout=60
        )

    def apply(self, name: str) -> "subprocess.CompletedProcess[str]":
        return self.run(name, "apply", "--reason", "hand")

    def motd(self, name: str) -> str:
        return (self.root(name) / "etc/motd").read_text()

    def refuse(self, name: str, reason: str) -> None:
        before = self.motd(name)
        done = self.apply(name)
        assert done.returncode == 77, done.stderr
        assert "[AGENT-019]" in done.stderr
        assert reason in done.stderr
        assert "Traceback" not in done.stderr
        assert self.motd(name) == before


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    directory = tmp_path_factory.mktemp("signed")
    with Site(directory / "site") as site:
        yield Fleet(site, directory)


def test_catalog_that_was_not_released_to_the_node_is_refused_and_a_rollback_works(
    fleet: Fleet, tmp_path: Path
) -> None:
    fleet.release("first")
    for name in NAMES:
        assert fleet.run(name, "fetch").returncode == 0
        assert fleet.apply(name).returncode == 0
    first = [shutil.copy(path, tmp_path / path.name) for path in fleet.cached("web1")]
    fleet.release("second")
    assert fleet.run("web1", "fetch").returncode == 0
    assert fleet.apply("web1").returncode == 0
    assert fleet.motd("web1") == "second on web1\n"
    second = [path.read_bytes() for path in fleet.cached("web1")]

    def put(*data: bytes) -> None:
        for path, content in zip(fleet.cached("web1"), data, strict=True):
            path.write_bytes(content)

    old = [Path(path).read_bytes() for path in first]
    put(*old)
    fleet.refuse("web1", "older than the release applied last")
    put(old[0], second[1])
    fleet.refuse("web1", "it names the catalog")
    put(second[0].replace(b"second", b"hacked"), second[1])
    fleet.refuse("web1", "it names the catalog")
    put(*(path.read_bytes() for path in fleet.cached("web2")))
    fleet.refuse("web1", "it is for web2, and this node is web1")
    put(second[0], b"")
    fleet.refuse("web1", "cannot be read")
    # The next fetch repairs the cache.
    assert fleet.run("web1", "fetch").returncode == 0
    assert fleet.apply("web1").returncode == 0
    # A rollback by the operator is a new release.
    fleet.site.run("rollback", "web1")
    assert fleet.run("web1", "fetch").returncode == 0
    assert fleet.apply("web1").returncode == 0
    assert fleet.motd("web1") == "first on web1\n"
    # And the one before it cannot come back.
    put(*second)
    fleet.refuse("web1", "older than the release applied last")


def test_catalog_that_a_person_names_needs_no_release(fleet: Fleet, tmp_path: Path) -> None:
    catalog = tmp_path / "own.json"
    catalog.write_text('{"resources": [{"type": "File", "title": "/own", "parameters": {"content": "x"}}]}')
    assert fleet.run("web2", "apply", "--catalog", str(catalog)).returncode == 0
    assert (fleet.root("web2") / "own").read_text() == "x"
