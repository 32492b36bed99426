"""Files of the environment that tasks run: fetched once, verified, for root alone, deleted when they are old."""

import os
import stat
import subprocess
from datetime import timedelta
from pathlib import Path

from lab.catalog_server import CatalogServer
from precast.agent.tasks.files.executables import DIRECTORY, KEPT, fetch_executable
from tests.component.agent.tasks.files.running_task import RunningTask, refused

SCRIPT = b"#!/bin/sh\necho hello\n"


def age(path: Path, time: timedelta) -> None:
    at = path.stat().st_mtime - time.total_seconds()
    os.utime(path, (at, at))


def test_file_is_fetched_once_and_can_be_run_by_its_owner_only(served: RunningTask, server: CatalogServer) -> None:
    digest = server.put(SCRIPT)
    path = fetch_executable(served.context, digest)
    assert path == served.root / DIRECTORY / digest
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)] == [0o700, 0o700]
    assert subprocess.run([path], capture_output=True, check=True).stdout == b"hello\n"
    served.urls = ()
    assert fetch_executable(served.context, digest) == path
    assert len(server.asked) == 1


def test_changed_file_is_not_used_and_fetched_again(served: RunningTask, server: CatalogServer) -> None:
    digest = server.put(SCRIPT)
    path = fetch_executable(served.context, digest)
    path.write_bytes(b"#!/bin/sh\necho evil\n")
    assert fetch_executable(served.context, digest).read_bytes() == SCRIPT


def test_file_that_the_server_does_not_offer_or_that_is_wrong_is_an_error(
    served: RunningTask, server: CatalogServer
) -> None:
    digest = server.put(SCRIPT)
    server.contents = {digest: b"evil"}
    assert refused(lambda: fetch_executable(served.context, digest)) == "AGENT-017"
    server.contents = {}
    assert refused(lambda: fetch_executable(served.context, digest)) == "AGENT-062"
    assert refused(lambda: fetch_executable(served.context, "../../bin/sh")) == "AGENT-017"
    assert list((served.root / DIRECTORY).iterdir()) == []


def test_file_that_no_task_has_used_for_long_is_deleted(served: RunningTask, server: CatalogServer) -> None:
    old, used = (fetch_executable(served.context, server.put(SCRIPT + name)) for name in (b"# old", b"# used"))
    for path in (old, used):
        age(path, KEPT - timedelta(hours=1))
    fetch_executable(served.context, used.name)
    for path in (old, used):
        age(path, timedelta(hours=2))
    fetch_executable(served.context, server.put(SCRIPT))
    assert (old.exists(), used.exists()) == (False, True)
