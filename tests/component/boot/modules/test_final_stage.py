"""final_message and phone_home, with a server in the test."""

import http.server
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from precast.boot import downloads
from precast.boot.capabilities import Capability
from tests.unit.boot.modules import scratch


class Server(http.server.ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.statuses: list[int] = []
        self.posts: list[tuple[str, dict[str, list[str]]]] = []


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        form = urllib.parse.parse_qs(self.rfile.read(length).decode())
        self.server.posts.append((self.path, form))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(downloads, "_PAUSE_S", 0.0)
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def call(root: Path, url: str, post: object = "all", tries: int = 3) -> scratch.ScratchRun:
    values = {Capability.INSTANCE_ID: "i-7", Capability.HOSTNAME: "web.example.com"}
    config = {"phone_home": {"url": url, "post": post, "tries": tries}}
    return scratch.run(config, root, only=("phone_home",), values=values)


def test_phone_home_posts_a_form_and_retries(server: Server, tmp_path: Path) -> None:
    root = scratch.make_root(tmp_path)
    (root / "etc/ssh").mkdir()
    (root / "etc/ssh/ssh_host_ed25519_key.pub").write_text("ssh-ed25519 AAAA host\n")
    server.statuses = [503, 500]
    ran = call(root, f"http://127.0.0.1:{server.server_port}/$INSTANCE_ID/?token=hidden")
    assert ran.errors == {}
    assert len(server.posts) == 3
    path, form = server.posts[-1]
    assert path == "/i-7/?token=hidden"
    assert form["pub_key_ed25519"] == ["ssh-ed25519 AAAA host"]
    assert (form["hostname"], form["fqdn"], form["pub_key_rsa"]) == (["web"], ["web.example.com"], ["N/A"])
    assert "hidden" not in f"{ran}"


def test_phone_home_posts_only_the_requested_values(server: Server, tmp_path: Path) -> None:
    ran = call(scratch.make_root(tmp_path), f"http://127.0.0.1:{server.server_port}/", ["instance_id", "nonsense"])
    assert server.posts == [("/", {"instance_id": ["i-7"]})]
    assert any("nonsense" in warning for warning in ran.warnings)


def test_phone_home_without_a_successful_response_fails(server: Server, tmp_path: Path) -> None:
    server.statuses = [404]
    ran = call(scratch.make_root(tmp_path), f"http://127.0.0.1:{server.server_port}/")
    assert ran.errors["phone_home"].code == "BOOT-205"
    assert "404" in ran.errors["phone_home"].message
    assert len(server.posts) == 1


def test_message_has_its_variables_substituted(tmp_path: Path) -> None:
    values = {Capability.PLATFORM: "openstack"}
    root = scratch.make_root(tmp_path)
    ran = scratch.run(
        {"final_message": "up on $datasource, ${VERSION}, $OTHER"}, root, only=("final_message",), values=values
    )
    assert ran.logs[0].startswith("notice: up on openstack, ")
    assert ran.logs[0].endswith(", $OTHER")
