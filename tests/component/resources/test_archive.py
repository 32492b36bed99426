"""archive: a real server on loopback, real archives, and the system's programs."""

import base64
import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.http_files import HttpFiles, Page
from precast.agent.applying.machine import Machine
from precast.base.clock import ManualClock
from precast.base.errors import InputError, NotFoundError, UnavailableError
from precast.resources.archive.handler import Archive
from precast.resources.contract import DesiredResource


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpFiles]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with HttpFiles() as made:
        yield made


@pytest.fixture
def tarball(tmp_path: Path) -> bytes:
    (tmp_path / "in/app").mkdir(parents=True)
    (tmp_path / "in/app/program").write_text("run\n")
    subprocess.run(["tar", "czf", "made.tgz", "-C", "in", "app"], cwd=tmp_path, check=True)
    return (tmp_path / "made.tgz").read_bytes()


def make(tmp_path: Path, title: str = "", secrets: tuple[str, ...] = (), **given: Any) -> Archive:
    node = Machine("", str(tmp_path / "state"), ManualClock())
    return Archive(DesiredResource("archive", title or str(tmp_path / "a.tgz"), given, frozenset(secrets)), node)


def apply(made: Archive) -> list[str]:
    changes = made.compare(made.read())
    for change in changes:
        made.apply(change)
    return [change.message for change in changes]


def test_archive_is_fetched_extracted_and_cleaned_up_once(tmp_path: Path, server: HttpFiles, tarball: bytes) -> None:
    server.pages["/a"] = Page(tarball)
    (tmp_path / "out").mkdir()
    given: dict[str, Any] = {
        "source": server.url(),
        "checksum": hashlib.sha256(tarball).hexdigest(),
        "checksum_type": "sha256",
        "extract": True,
        "extract_path": str(tmp_path / "out"),
        "creates": str(tmp_path / "out/app/program"),
    }
    (message,) = apply(make(tmp_path, **given))
    assert message.endswith(f"and extracted in {tmp_path}/out with cleanup")
    assert (tmp_path / "out/app/program").read_text() == "run\n"
    assert not (tmp_path / "a.tgz").exists()
    assert apply(make(tmp_path, **given)) == []


def test_archive_that_stays_is_extracted_again_when_its_content_is_gone(tmp_path: Path, tarball: bytes) -> None:
    (tmp_path / "out").mkdir()
    given: dict[str, Any] = {
        "url": f"file://{tmp_path}/made.tgz",
        "extract": True,
        "target": str(tmp_path / "out"),
        "creates": str(tmp_path / "out/app"),
        "cleanup": False,
    }
    assert apply(make(tmp_path, **given))[0].startswith("download archive from file:")
    subprocess.run(["rm", "-r", str(tmp_path / "out/app")], check=True)
    (message,) = apply(make(tmp_path, **given))
    assert message.startswith("creates changed 'archive not extracted' to extracting in")
    assert (tmp_path / "a.tgz").read_bytes() == tarball
    assert apply(make(tmp_path, **given)) == []


def test_download_with_another_checksum_changes_nothing(tmp_path: Path, server: HttpFiles) -> None:
    server.pages["/a"] = Page(b"evil")
    (tmp_path / "a.tgz").write_text("former")
    made = make(tmp_path, source=server.url(), checksum="0" * 64, checksum_type="sha256")
    (change,) = made.compare(made.read())
    assert change.message.startswith("replace archive:")
    with pytest.raises(InputError, match="has the checksum"):
        made.apply(change)
    assert (tmp_path / "a.tgz").read_text() == "former"


def test_checksum_of_a_server_decides(tmp_path: Path, server: HttpFiles) -> None:
    server.pages["/a"] = Page(b"content")
    server.pages["/sum"] = Page(f"{hashlib.md5(b'content').hexdigest()}  a.tgz\n".encode())
    given: dict[str, Any] = {"source": server.url(), "checksum_url": server.url("/sum"), "checksum_type": "md5"}
    assert len(apply(make(tmp_path, **given))) == 1
    assert apply(make(tmp_path, **given)) == []
    assert "asks a server" in make(tmp_path, **given).check_needs_trust


def test_account_and_cookie_are_sent_and_not_shown(tmp_path: Path, server: HttpFiles) -> None:
    server.pages["/a"] = Page(b"content")
    source = server.url().replace("http://", "http://me:hunter2@")
    (message,) = apply(make(tmp_path, source=source))
    assert "hunter2" not in message
    assert server.headers[-1]["Authorization"] == f"Basic {base64.b64encode(b'me:hunter2').decode()}"
    made = make(
        tmp_path, str(tmp_path / "b"), ("password",), source=server.url(), username="u", password="p", cookie="c=1"
    )
    apply(made)
    assert server.headers[-1]["Cookie"] == "c=1"
    assert server.headers[-1]["Authorization"] == f"Basic {base64.b64encode(b'u:p').decode()}"


def test_redirect_to_another_host_gets_neither_account_nor_cookie(tmp_path: Path, server: HttpFiles) -> None:
    server.pages["/b"] = Page(b"content")
    server.pages["/a"] = Page(status=302, headers={"Location": "/b"})
    apply(make(tmp_path, source=server.url(), username="u", cookie="c=1"))
    assert server.headers[-1]["Cookie"] == "c=1"
    elsewhere = server.url("/b").replace("127.0.0.1", "localhost")
    server.pages["/a"] = Page(status=302, headers={"Location": elsewhere})
    apply(make(tmp_path, str(tmp_path / "b"), source=server.url(), username="u", cookie="c=1"))
    assert server.asked[-1] == "GET /b"
    assert not {"Cookie", "Authorization"} & set(server.headers[-1])


def test_redirects_without_end_fail(tmp_path: Path, server: HttpFiles) -> None:
    server.pages["/a"] = Page(status=302, headers={"Location": "/a"})
    made = make(tmp_path, source=server.url())
    (change,) = made.compare(made.read())
    with pytest.raises(UnavailableError):
        made.apply(change)
    assert len(server.asked) <= 6


def test_missing_sources_are_named(tmp_path: Path, server: HttpFiles) -> None:
    for source, error in (
        (server.url("/none"), UnavailableError),
        ("/no/such/file", NotFoundError),
        (None, InputError),
    ):
        given: dict[str, Any] = {} if source is None else {"source": source}
        made = make(tmp_path, **given)
        (change,) = made.compare(made.read())
        with pytest.raises(error):
            made.apply(change)
    assert not (tmp_path / "a.tgz").exists()


def test_failed_extraction_shows_what_the_program_said(tmp_path: Path) -> None:
    (tmp_path / "broken.tar").write_text("no archive")
    made = make(
        tmp_path, str(tmp_path / "b.tar"), source=str(tmp_path / "broken.tar"), extract=True, extract_path=str(tmp_path)
    )
    (change,) = made.compare(made.read())
    with pytest.raises(UnavailableError, match="tar xf"):
        made.apply(change)


def test_absent_archive_is_removed(tmp_path: Path) -> None:
    (tmp_path / "a.tgz").write_text("x")
    assert apply(make(tmp_path, ensure="absent")) == [f"remove archive: {tmp_path}/a.tgz "]
    assert apply(make(tmp_path, ensure="absent", creates="/etc/passwd")) == []


@pytest.mark.parametrize(
    "given",
    [
        {"source": "/a", "url": "/b"},
        {"checksum": "xyz"},
        {"checksum_type": "crc"},
        {"extract_path": "relative"},
        {"temp_dir": "tmp"},
        {"extract": "maybe"},
    ],
)
def test_invalid_parameters_fail_when_it_is_made(tmp_path: Path, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        make(tmp_path, **given)
