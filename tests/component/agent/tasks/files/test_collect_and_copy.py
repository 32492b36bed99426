"""Files that one node collects and others copy, through real network processes and real TLS."""

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from lab.catalog_server import CatalogServer
from precast.agent.state.paths import STATE
from precast.agent.tasks.files import collect_work, copy_work, server_content
from precast.agent.tasks.files.collect_work import collect_files
from precast.agent.tasks.files.copy_work import copy_files
from precast.base import digests
from precast.wire.jobs.programs import CollectWork, CopiedFile, CopyWork
from tests.component.agent.tasks.files.running_task import AS_ROOT, STRANGER, RunningTask, is_fine, refused

KEY, LARGE = "/var/lib/keys/nova", "/var/lib/keys/large"
AWAY = {"status": 503, "detail": "the database is away", "code": "STORE-001"}
FULL = {"status": 409, "detail": "web1 cannot send more", "code": "PLAN-191"}


def collect(task: RunningTask, *paths: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(is_fine(collect_files(task.context, CollectWork(list(paths)))))
    return found


def copy(task: RunningTask, collected: Any, *files: tuple[str, str], **more: Any) -> dict[str, int]:
    work = CopyWork([CopiedFile(*file) for file in files], **more)
    found: dict[str, int] = json.loads(is_fine(copy_files(task.context, work, {"collected": collected})))
    return found


def named(data: bytes, mode: str = "0644") -> dict[str, Any]:
    return {"digest": digests.of_bytes(data), "mode": mode, "size": len(data)}


def contents_in(task: RunningTask) -> list[Path]:
    """What is left of contents in the agent's private state."""
    return [path for path in (task.root / STATE).rglob("*") if path.is_file() and "task-content" in path.parts]


def test_collected_files_are_stored_with_digest_mode_and_size(served: RunningTask, server: CatalogServer) -> None:
    large = os.urandom(3_000_000)
    served.place(KEY, "secret", 0o640)
    served.place(LARGE, large, 0o4755)
    served.place("/etc/empty", "")
    found = collect(served, KEY, LARGE, KEY, "/etc/empty")
    assert found == {KEY: named(b"secret", "0640"), LARGE: named(large, "0755"), "/etc/empty": named(b"")}
    assert server.contents == {digests.of_bytes(data): data for data in (b"secret", large, b"")}
    assert served.lines == [
        f"{KEY}: collected, 6 bytes",
        f"{LARGE}: collected, 3000000 bytes",
        "/etc/empty: collected, 0 bytes",
    ]


def test_same_content_is_sent_once(served: RunningTask, server: CatalogServer) -> None:
    served.place(KEY, "secret")
    served.place(LARGE, "secret")
    assert set(collect(served, KEY, LARGE)) == {KEY, LARGE}
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/etc/nothing", "AGENT-050"),
        ("/nowhere/nothing", "AGENT-050"),
        (f"{KEY}/below", "AGENT-050"),
        ("etc/motd", "AGENT-050"),
        ("/etc/a\nb", "AGENT-050"),
        ("/var/lib/keys", "AGENT-051"),
        ("/var/lib/keys/pipe", "AGENT-052"),
        ("/var/lib/keys/sparse", "AGENT-053"),
    ],
)
def test_nothing_is_sent_if_one_path_cannot_be_collected(
    served: RunningTask, server: CatalogServer, path: str, code: str
) -> None:
    served.place(KEY, "secret")
    os.mkfifo(served.root / "var/lib/keys/pipe")
    os.truncate(served.place("/var/lib/keys/sparse", ""), 100 << 20)
    assert refused(lambda: collect(served, KEY, path)) == code
    assert server.asked == []


@AS_ROOT
def test_file_that_another_user_has_put_there_is_not_collected(served: RunningTask, server: CatalogServer) -> None:
    shadow = served.place("/etc/shadow", "secret", 0o600)
    home = served.home("/home/bob")
    (home / "link").symlink_to("/etc/shadow")
    os.chown(home / "link", STRANGER, STRANGER, follow_symlinks=False)
    os.link(shadow, home / "linked")
    served.place("/home/bob/renamed", "a file that root keeps there", 0o600)
    codes = [refused(lambda name=name: collect(served, f"/home/bob/{name}")) for name in ("link", "linked", "renamed")]
    assert (codes, server.asked) == (["RESOURCE-109", "RESOURCE-117", "RESOURCE-126"], [])
    served.place("/home/bob/own", "theirs", 0o600, STRANGER)
    assert set(collect(served, "/home/bob/own")) == {"/home/bob/own"}


def test_file_that_grows_while_it_is_read_has_a_limit(served: RunningTask, monkeypatch: pytest.MonkeyPatch) -> None:
    file = served.place(KEY, "x" * 90)
    monkeypatch.setattr(collect_work, "MAX_CONTENT_BYTES", 100)
    real = collect_work._copy

    def grow(*arguments: Any) -> str:
        file.write_text("x" * 200)
        return real(*arguments)

    collect(served, KEY)
    monkeypatch.setattr(collect_work, "_copy", grow)
    assert refused(lambda: collect(served, KEY)) == "RESOURCE-127"


def test_result_that_is_too_long_is_an_error(served: RunningTask, monkeypatch: pytest.MonkeyPatch) -> None:
    served.place(KEY, "secret")
    monkeypatch.setattr(collect_work, "MAX_RESULT_CHARS", 100)
    assert refused(lambda: collect(served, KEY)) == "AGENT-054"


def test_copied_files_have_content_and_mode_of_their_sources(served: RunningTask, server: CatalogServer) -> None:
    large = os.urandom(2_000_000)
    collected = {KEY: named(b"secret", "0600"), LARGE: named(large)}
    server.put(b"secret")
    server.put(large)
    served.place("/srv/key", "old", 0o644)
    files = [(KEY, "/etc/nova/key"), (LARGE, "/srv/large"), (KEY, "/srv/key")]
    assert copy(served, collected, *files, directory_mode="0700") == {"changed": 3, "unchanged": 0}
    key = served.root / "etc/nova/key"
    assert (key.read_text(), (served.root / "srv/large").read_bytes()) == ("secret", large)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (key, key.parent, served.root / "srv/key")]
    assert modes == [0o600, 0o700, 0o600]
    assert len(server.asked) == 2
    assert contents_in(served) == []
    assert served.lines[0] == "/etc/nova/key: created, 6 bytes, mode 0600"
    # The second time, nothing is fetched; another mode of the plan wins.
    assert copy(served, collected, *files) == {"changed": 0, "unchanged": 3}
    assert len(server.asked) == 2
    assert copy(served, collected, files[0], mode="0640") == {"changed": 1, "unchanged": 0}
    assert stat.S_IMODE(key.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    "collected",
    [
        None,
        [],
        {KEY: "0" * 64},
        {KEY: {**named(b""), "digest": "../../etc/shadow"}},
        {KEY: {**named(b""), "mode": "4755"}},
        {KEY: {**named(b""), "size": 1 << 40}},
    ],
)
def test_input_of_another_shape_is_refused(served: RunningTask, server: CatalogServer, collected: Any) -> None:
    assert refused(lambda: copy(served, collected, (KEY, "/etc/key"))) == "AGENT-060"
    assert server.asked == []


def test_nothing_is_written_if_a_source_was_not_collected(served: RunningTask, server: CatalogServer) -> None:
    server.put(b"secret")
    collected = {KEY: named(b"secret")}
    assert refused(lambda: copy(served, collected, (KEY, "/etc/key"), (LARGE, "/etc/large"))) == "AGENT-061"
    assert not (served.root / "etc/key").exists()


def test_content_that_the_server_does_not_offer_or_that_is_wrong_is_not_written(
    served: RunningTask, server: CatalogServer
) -> None:
    served.place("/etc/key", "old")
    collected = {KEY: named(b"secret")}
    assert refused(lambda: copy(served, collected, (KEY, "/etc/key"))) == "AGENT-062"
    server.contents[digests.of_bytes(b"secret")] = b"evil"
    assert refused(lambda: copy(served, collected, (KEY, "/etc/key"))) == "AGENT-017"
    assert ((served.root / "etc/key").read_text(), contents_in(served)) == ("old", [])


def test_server_that_is_away_is_asked_again(
    served: RunningTask, server: CatalogServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_content, "FIRST_PAUSE_S", 0.01)
    served.place(KEY, "secret")
    server.problems = [AWAY, AWAY]
    collected = collect(served, KEY)
    server.problems = [AWAY]
    assert copy(served, collected, (KEY, "/etc/key")) == {"changed": 1, "unchanged": 0}
    assert len(server.asked) == 5


def test_server_that_stays_away_is_an_error_before_the_deadline(served: RunningTask, server: CatalogServer) -> None:
    served.place(KEY, "secret")
    served.urls = ("https://127.0.0.1:1",)
    served.left_s = 3.0
    assert refused(lambda: collect(served, KEY)) == "AGENT-063"
    assert refused(lambda: copy(served, {KEY: named(b"x")}, (KEY, "/etc/key"))) == "AGENT-063"
    served.urls = ("https://127.0.0.1:1", server.url)
    assert set(collect(served, KEY)) == {KEY}


def test_refusal_of_the_server_is_passed_on_and_not_repeated(served: RunningTask, server: CatalogServer) -> None:
    served.place(KEY, "secret")
    server.problems = [FULL]
    assert refused(lambda: collect(served, KEY)) == "PLAN-191"
    assert len(server.asked) == 1


def test_stopped_task_ends_between_two_files_and_while_it_waits(
    served: RunningTask, server: CatalogServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.place(KEY, "secret")
    collected = collect(served, KEY)
    served.is_stopped = True
    assert refused(lambda: collect(served, KEY)) == "AGENT-064"
    assert refused(lambda: copy(served, collected, (KEY, "/etc/key"))) == "AGENT-064"
    monkeypatch.setattr(served, "is_stopped", False)
    server.problems = [AWAY]
    real = served.store.read_note

    def stop_later(kind: Any) -> Any:
        served.is_stopped = True
        return real(kind)

    monkeypatch.setattr(served.store, "read_note", stop_later)
    assert refused(lambda: copy(served, collected, (KEY, "/etc/key"))) == "AGENT-064"


def test_contents_that_a_killed_step_has_left_are_deleted(served: RunningTask, server: CatalogServer) -> None:
    left = served.place(str("/" / copy_work.DIRECTORY / ("0" * 64)), "a secret", 0o600)
    copy(served, {KEY: named(server.put(b"secret").encode())})
    assert not left.exists()


def test_full_disk_of_the_agent_is_an_error_and_leaves_nothing(
    served: RunningTask, server: CatalogServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.put(b"secret")

    def download(directory: Path, wanted: list[str], *_: object) -> int:
        (directory / f"{wanted[0]}.part").write_bytes(b"a part")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(server_content, "download_contents", download)
    assert refused(lambda: copy(served, {KEY: named(b"secret")}, (KEY, "/etc/key"))) == "AGENT-004"
    assert contents_in(served) == []
    assert not (served.root / "etc/key").exists()
