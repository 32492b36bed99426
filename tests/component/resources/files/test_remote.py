"""file with a source on another server: a real server on loopback, with complete and faulty responses."""

import hashlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.http_files import HttpFiles, Page
from precast.base.errors import InputError, NotFoundError, PrecastError, UnavailableError
from tests.unit.resources.files.applied_file import apply_resource, file, make_handler, node

OLD, NEW = "Tue, 01 Jan 2019 00:00:00 GMT", "Wed, 01 Jan 2020 00:00:00 GMT"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpFiles]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with HttpFiles() as made:
        yield made


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"Last-Modified": OLD}, "{mtime}2019-01-01 00:00:00 +0000"),
        ({"X-Checksum-Sha256": sha256(b"hello\n").upper(), "Last-Modified": OLD}, "{sha256}" + sha256(b"hello\n")),
        (
            {"Content-MD5": "sZRqyZJIPUh/kalRxsL2pw==", "X-Checksum-Sha1": "f572d396fae9206628714fb2ce00f72e94f2258f"},
            "",
        ),
        ({"Content-MD5": "sZRqySSS0jR8YjW00mERhA=="}, "{md5}b1946ac92492d2347c6235b4d2611184"),
        ({"Content-MD5": "nonsense", "Last-Modified": "never"}, "{sha256}" + sha256(b"hello\n")),
    ],
)
def test_what_the_server_tells_decides_and_a_second_run_finds_nothing(
    tmp_path: Path, server: HttpFiles, headers: dict[str, str], said: str
) -> None:
    server.pages["/a"] = Page(headers=headers)
    resource = file(tmp_path / "f", source=server.url(), mode="0640")
    if not said:  # one of the checksums is not that of the file
        with pytest.raises(InputError, match="has the checksum"):
            apply_resource(node(tmp_path), resource)
        assert not (tmp_path / "f").exists()
        return
    assert apply_resource(node(tmp_path), resource) == [f"ensure: defined content as '{said}'"]
    assert (tmp_path / "f").read_text() == "hello\n"
    assert apply_resource(node(tmp_path), resource) == []


def test_file_is_fetched_again_when_the_server_changed_it(tmp_path: Path, server: HttpFiles) -> None:
    server.pages["/a"] = Page(headers={"Last-Modified": OLD})
    resource = file(tmp_path / "f", source=server.url())
    apply_resource(node(tmp_path), resource)
    server.pages["/a"] = Page(b"new\n", headers={"Last-Modified": OLD})
    assert apply_resource(node(tmp_path), resource) == []  # as new as the server's, by its word
    server.pages["/a"] = Page(b"new\n", headers={"Last-Modified": NEW})
    os.utime(tmp_path / "f", (0, 0))
    (message,) = apply_resource(node(tmp_path), resource)
    assert message.endswith("to '{mtime}2020-01-01 00:00:00 +0000'")
    assert (tmp_path / "f").read_text() == "new\n"


def test_checksum_of_the_catalog_is_held_to(tmp_path: Path, server: HttpFiles) -> None:
    server.pages["/a"] = Page(headers={"Last-Modified": OLD})
    right = file(tmp_path / "f", source=server.url(), checksum_value=sha256(b"hello\n"))
    assert apply_resource(node(tmp_path), right) == ["ensure: defined content as '{sha256}" + sha256(b"hello\n") + "'"]
    (tmp_path / "f").write_text("other")
    assert len(apply_resource(node(tmp_path), right)) == 1
    wrong = file(tmp_path / "g", source=server.url(), checksum_value=sha256(b"else"))
    with pytest.raises(InputError, match="has the checksum"):
        apply_resource(node(tmp_path), wrong)
    assert not (tmp_path / "g").exists()


def test_first_source_that_exists_counts_and_no_head_is_needed(tmp_path: Path, server: HttpFiles) -> None:
    server.pages["/a"] = Page(head=405, headers={"Last-Modified": OLD})
    resource = file(tmp_path / "f", source=[server.url("/nothing"), server.url()])
    assert len(apply_resource(node(tmp_path), resource)) == 1
    assert server.asked[:3] == ["HEAD /nothing", "HEAD /a", "GET /a"]
    with pytest.raises(NotFoundError, match="none of the sources exists"):
        apply_resource(node(tmp_path), file(tmp_path / "g", source=server.url("/nothing")))


def test_looking_fetches_nothing_that_the_server_can_tell(tmp_path: Path, server: HttpFiles) -> None:
    server.pages["/a"] = Page(headers={"Last-Modified": OLD})
    handler = make_handler(node(tmp_path), file(tmp_path / "f", source=server.url()))
    assert len(handler.compare(handler.read())) == 1
    assert server.asked == ["HEAD /a"]


def test_redirects_are_followed_but_never_out_of_http(tmp_path: Path, server: HttpFiles) -> None:
    (tmp_path / "secret").write_text("secret")
    server.pages["/a"] = Page()
    server.pages["/moved"] = Page(b"", 302, {"Location": server.url()}, head=302)
    server.pages["/out"] = Page(b"", 302, {"Location": f"file://{tmp_path}/secret"}, head=302)
    server.pages["/ftp"] = Page(b"", 302, {"Location": "ftp://127.0.0.1/x"}, head=302)
    server.pages["/circle"] = Page(b"", 302, {"Location": server.url("/circle")}, head=302)
    assert len(apply_resource(node(tmp_path), file(tmp_path / "f", source=server.url("/moved")))) == 1
    for path in ("/out", "/ftp", "/circle"):
        with pytest.raises(UnavailableError, match="cannot fetch http"):
            apply_resource(node(tmp_path), file(tmp_path / "g", source=server.url(path)))
    assert not (tmp_path / "g").exists()


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (Page(status=500, head=500), "its server answers 500"),
        (Page(length=100), "only 6 of 100 bytes arrived"),
    ],
)
def test_file_that_does_not_come_leaves_what_is_there(
    tmp_path: Path, server: HttpFiles, page: Page, reason: str
) -> None:
    (tmp_path / "f").write_text("old")
    server.pages["/a"] = page
    with pytest.raises(UnavailableError, match=reason):
        apply_resource(node(tmp_path), file(tmp_path / "f", source=server.url()))
    assert (tmp_path / "f").read_text() == "old"


def test_server_that_is_away_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"http://127.0.0.1:{held.getsockname()[1]}/a"
        with pytest.raises(PrecastError, match=r"cannot fetch .*: Connection refused"):
            apply_resource(node(tmp_path), file(tmp_path / "f", source=url))
