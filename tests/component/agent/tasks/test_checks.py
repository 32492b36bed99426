"""The tests of tasks: each kind passes and fails, in the real process of a task."""

import http.server
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.catalog_server import CatalogServer
from precast.wire.jobs.programs import (
    AnyTest,
    CommandTest,
    FactTest,
    FileTest,
    HttpTest,
    NoWork,
    ResourceTest,
    TcpTest,
)
from tests.component.agent.tasks.stage import Stage


def owner_of(port: int) -> int:
    """The user whose connection has this port on this machine."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return next(int(row[7]) for row in rows if int(row[1].partition(":")[2], 16) == port)


class Site(http.server.BaseHTTPRequestHandler):
    """A server with three pages."""

    seen: list[tuple[str, str]]
    owners: list[int]  # of the connections

    def do_GET(self) -> None:
        self.seen.append((self.path, self.headers["Host"]))
        self.owners.append(owner_of(self.client_address[1]))
        status = {"/moved": 302, "/broken": 503}.get(self.path, 200)
        body = b"x" * (3 << 20) if self.path == "/large" else b"it is all well"
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/fine")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def site() -> Iterator[str]:
    Site.seen, Site.owners = [], []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def fails(stage: Stage, test: AnyTest) -> str:
    """The reason why a test fails."""
    ended = stage.run(NoWork(), before=[test]).ended
    assert (ended.is_success, ended.phase, ended.is_overdue) == (False, "pre-test", False)
    return ended.message.partition("): ")[2]


def passes(stage: Stage, *tests: AnyTest) -> None:
    ended = stage.run(NoWork(), before=list(tests)).ended
    assert ended.is_success, ended.message


def test_http_passes_by_status_and_text(stage: Stage, site: str) -> None:
    passes(
        stage,
        HttpTest(url=f"{site}/fine?a=b#c", contains="all well"),
        HttpTest(url=f"{site}/broken", status=[200, 503]),
        HttpTest(url=f"{site}/moved", status=[302]),
        HttpTest(url=site),
    )
    assert [path for path, _ in Site.seen] == ["/fine?a=b", "/broken", "/moved", "/"]
    assert {f"http://{host}" for _, host in Site.seen} == {site}


@pytest.mark.parametrize(
    ("path", "contains", "reason"),
    [
        ("/broken", "", "it answers 503 Service Unavailable, and not 200"),
        ("/moved", "", "it answers 302 Found, and not 200"),
        ("/fine", "other", "its answer does not contain 'other'"),
        ("/large", "y", "the first 1 MiB of its answer does not contain 'y'"),
    ],
)
def test_http_fails_by_status_and_text(stage: Stage, site: str, path: str, contains: str, reason: str) -> None:
    assert fails(stage, HttpTest(url=site + path, contains=contains)) == reason
    assert [asked for asked, _ in Site.seen] == [path], "a redirect is not followed"


def test_http_fails_for_a_certificate_that_the_system_does_not_trust(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with CatalogServer(tmp_path / "other") as server:
        reason = fails(stage, HttpTest(url=server.url))
    assert reason.startswith("its certificate is not trusted")
    assert server.asked == []


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "http:///x", "127.0.0.1:80", "http://127.0.0.1:99999/"])
def test_http_fails_for_an_address_that_cannot_be_asked(stage: Stage, url: str) -> None:
    assert "cannot be asked" in fails(stage, HttpTest(url=url, within_s=60.0))


def test_http_that_is_never_answered_ends_after_its_time(stage: Stage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        reason = fails(stage, HttpTest(url=f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=1.0))
    assert reason in ("it does not answer in time", "it took more than 1 s")


def test_tcp_passes_if_a_connection_is_accepted(stage: Stage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        passes(stage, TcpTest(port=port), TcpTest(host="localhost", port=port))


def test_tcp_fails_if_a_connection_is_refused(stage: Stage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert fails(stage, TcpTest(port=port)) == "connection refused"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_answers_meets_a_user_without_privileges(stage: Stage, site: str) -> None:
    passes(stage, HttpTest(url=site))
    (owner,) = Site.owners
    assert owner != 0


def test_files_pass_by_their_kind_and_text(stage: Stage) -> None:
    srv = stage.root / "srv"
    srv.mkdir()
    (srv / "file").write_text("some text")
    (srv / "link").symlink_to("file")
    (srv / "dangling").symlink_to("none")
    passes(
        stage,
        FileTest(path="/srv/file", contains="me te"),
        FileTest(path="/srv/file", state="file"),
        FileTest(path="/srv", state="directory"),
        FileTest(path="/srv/link", state="link"),
        FileTest(path="/srv/link", state="file", contains="text"),
        FileTest(path="/srv/dangling"),
        FileTest(path="/srv/none", state="absent"),
        FileTest(path="/none/none", state="absent"),
    )


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        (FileTest(path="/none"), "/none is absent, and not present"),
        (FileTest(path="/etc", state="absent"), "/etc is a directory, and not absent"),
        (FileTest(path="/etc", state="file"), "/etc is a directory, and not a file"),
        (FileTest(path="/etc/precast/agent.toml", state="link"), "/etc/precast/agent.toml is a file, and not a link"),
        (FileTest(path="/etc/precast/agent.toml", contains="q"), "/etc/precast/agent.toml does not contain 'q'"),
        (FileTest(path="etc"), "etc is no absolute path"),
        (FileTest(path="/dangling", state="file"), "/dangling is absent, and not a file"),
    ],
)
def test_file_fails_with_what_is_there(stage: Stage, test: FileTest, reason: str) -> None:
    (stage.root / "dangling").symlink_to("nowhere")
    assert fails(stage, test) == reason


def test_fact_passes_by_its_value_as_it_is_now(stage: Stage) -> None:
    facts = stage.root / "etc/precast/facts.d"
    facts.mkdir(parents=True)
    (facts / "own.json").write_text(json.dumps({"rack": {"name": "a1", "units": 42}}))
    passes(
        stage,
        FactTest(fact="rack"),
        FactTest(fact="rack.name", equals="a1"),
        FactTest(fact="rack.units", equals=42),
        FactTest(fact="rack", equals={"name": "a1", "units": 42}),
    )


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        (FactTest(fact="rack.name"), "there is no fact rack.name"),
        (FactTest(fact="networking.hostname", equals="no such name"), "the fact networking.hostname is "),
    ],
)
def test_fact_fails_with_the_value_that_it_has(stage: Stage, test: FactTest, reason: str) -> None:
    (stage.root / "etc/hostname").write_text("web1\n")
    assert fails(stage, test).startswith(reason)


def test_resource_passes_if_a_no_op_run_would_change_nothing(stage: Stage) -> None:
    (stage.root / "motd").write_text("hello\n")
    passes(stage, ResourceTest(type="file", title="/motd", parameters={"content": "hello\n", "ensure": "file"}))


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        (
            ResourceTest(type="file", title="/motd", parameters={"ensure": "file"}),
            "1 resource is not in sync: File[/motd]: current_value 'absent', should be 'file' (noop)",
        ),
        (ResourceTest(type="nosuch", title="x"), "1 resource is not in sync: Nosuch[x]: "),
    ],
)
def test_resource_fails_with_what_would_change_and_changes_nothing(
    stage: Stage, test: ResourceTest, reason: str
) -> None:
    assert fails(stage, test).startswith(reason)
    assert not (stage.root / "motd").exists()


def test_command_fails_with_its_code_and_last_words(stage: Stage) -> None:
    ended = stage.run(NoWork(), before=[CommandTest(cmd="echo this; echo that >&2; exit 9")]).ended
    assert (ended.message.partition("): ")[2], ended.telling_line) == ("it ended with 9", "that")


def test_command_that_is_ended_by_a_signal_fails_with_it(stage: Stage) -> None:
    assert fails(stage, CommandTest(cmd="kill -9 $$")) == "it was ended by signal 9"
