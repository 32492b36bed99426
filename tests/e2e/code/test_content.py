"""Transfers of large content to a node: ranges, and connections that break, with a real server, real TLS and a proxy that cuts off."""

import contextlib
import json
import random
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.site import Site
from precast.agent.catalog.content_download import TRIES, download_contents
from precast.agent.identity.enrolment import Identity
from precast.agent.network.http_client import DirectHttp
from precast.base import digests, https
from precast.base.errors import DeniedError, NotFoundError, UnavailableError

LARGE = random.Random(1).randbytes(5_000_000)
DIGEST = digests.of_bytes(LARGE)


class CuttingProxy:
    """A proxy to a server's port that cuts off the responses of the first connections after a number of bytes."""

    def __init__(self, port: int, cuts: list[int]) -> None:
        self._port, self.cuts = port, cuts
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        self.carried: list[int] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                limit = self.cuts.pop(0) if self.cuts else 2**40
                threading.Thread(target=self._carry, args=(client, server, None), daemon=True).start()
                threading.Thread(target=self._carry, args=(server, client, limit), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, limit: int | None) -> None:
        carried = 0
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
                carried += len(data)
                if limit is not None and limit <= carried:
                    break
        if limit is not None:
            self.carried.append(carried)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class DeployedSite:
    def __init__(self, site: Site, node: Identity) -> None:
        self.site, self.node = site, node

    def ask(self, **headers: str) -> https.HttpAnswer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return https.call(self.site.url, self.node.context(), "GET", f"/v1/content/{DIGEST}", headers=named)


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeployedSite]:
    directory = tmp_path_factory.mktemp("content")
    files = directory / "code" / "modules" / "large" / "files"
    files.mkdir(parents=True)
    (files / "large").write_bytes(LARGE)
    (directory / "code" / "manifests").mkdir()
    (directory / "code" / "manifests" / "site.pp").write_text(
        "file { '/tmp/large': source => 'puppet:///modules/large/large' }\n"
    )
    with Site(directory / "site") as site:
        node = site.enrol("web1")
        body = {"digest": digests.of_value({"a": 1}), "volatile": {}, "stable": {"a": 1}}
        https.call(site.url, node.context(), "POST", "/v1/facts", json.dumps(body).encode())
        site.run("env", "deploy", "production", "--from", str(directory / "code"))
        while site.status()["queues"]:  # the test's own deadline ends this
            pass
        site.run("catalog", "compile", "web1")
        site.run("release", "web1")
        yield DeployedSite(site, node)


def test_ranges_of_a_content_are_served_as_requested(deployed: DeployedSite) -> None:
    whole = deployed.ask()
    assert (whole.status, whole.headers["Accept-Ranges"], whole.headers["ETag"]) == (200, "bytes", f'"{DIGEST}"')
    assert whole.body == LARGE
    part = deployed.ask(Range="bytes=300000-4000000")
    assert (part.status, part.headers["Content-Range"]) == (206, "bytes 300000-4000000/5000000")
    assert part.body == LARGE[300000:4000001]
    assert deployed.ask(Range="bytes=-7").body == LARGE[-7:]
    assert deployed.ask(Range="bytes=4999999-", If_Range=f'"{DIGEST}"').body == LARGE[-1:]
    assert len(deployed.ask(Range="bytes=1-2", If_Range='"another"').body) == len(LARGE)
    beyond = deployed.ask(Range="bytes=5000000-")
    assert (beyond.status, beyond.headers["Content-Range"], beyond.body) == (416, "bytes */5000000", b"")


def test_interrupted_transfer_resumes_where_it_stopped(deployed: DeployedSite, tmp_path: Path) -> None:
    proxy = CuttingProxy(deployed.site.port, [1_000_000, 1_500_000, 1_000_000])
    assert download_contents(tmp_path, [DIGEST], proxy.url, DirectHttp(deployed.node.context())) == 1
    proxy.close()
    assert [path.name for path in tmp_path.iterdir()] == [DIGEST]
    assert (tmp_path / DIGEST).read_bytes() == LARGE
    assert (tmp_path / DIGEST).stat().st_mode & 0o777 == 0o600
    # No byte was sent twice except those in flight when a connection broke.
    assert sum(proxy.carried) < len(LARGE) + 4 * 300_000


def test_fetch_that_was_killed_is_resumed_by_the_next(deployed: DeployedSite, tmp_path: Path) -> None:
    proxy = CuttingProxy(deployed.site.port, [600_000] * TRIES)
    with pytest.raises(UnavailableError):
        download_contents(tmp_path, [DIGEST], proxy.url, DirectHttp(deployed.node.context()))
    had = (tmp_path / f"{DIGEST}.part").stat().st_size
    assert 1_000_000 < had < len(LARGE)
    proxy.cuts = []
    proxy.carried.clear()
    assert download_contents(tmp_path, [DIGEST], proxy.url, DirectHttp(deployed.node.context())) == 1
    proxy.close()
    assert (tmp_path / DIGEST).read_bytes() == LARGE
    assert sum(proxy.carried) < len(LARGE) - had + 300_000


@pytest.mark.parametrize("before", [LARGE, b"something else " * 100, LARGE[:1000] + b"x", LARGE + b"more"])
def test_partial_file_that_is_complete_or_wrong_is_detected(
    deployed: DeployedSite, tmp_path: Path, before: bytes
) -> None:
    (tmp_path / f"{DIGEST}.part").write_bytes(before)
    assert download_contents(tmp_path, [DIGEST], deployed.site.url, DirectHttp(deployed.node.context())) == 1
    assert (tmp_path / DIGEST).read_bytes() == LARGE
    assert len(list(tmp_path.iterdir())) == 1


def test_content_of_another_node_is_not_found(deployed: DeployedSite, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        download_contents(tmp_path, ["0" * 64], deployed.site.url, DirectHttp(deployed.node.context()))
    with pytest.raises(DeniedError):
        download_contents(tmp_path, ["../../etc/passwd"], deployed.site.url, DirectHttp(deployed.node.context()))
