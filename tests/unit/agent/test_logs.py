"""Where the daemon logs, and in which form."""

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from precast.agent import logs
from precast.base.errors import UnavailableError

log = logging.getLogger("precast.agent")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    root.handlers = []
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers, root.level = handlers, level


def test_journal_line_begins_with_the_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "stderr").open("w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        status = os.fstat(stream.fileno())
        logs.set_up("info", None, {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
        log.error("two\nlines")
        log.info("fine")
        log.debug("not told")
    assert (tmp_path / "stderr").read_text() == "<3>two lines\n<6>fine\n"


def test_log_outside_the_journal_has_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "stderr").open("w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        logs.set_up("warning", None, {"JOURNAL_STREAM": "8:1"})
        log.warning("look")
        log.info("not told")
    (line,) = (tmp_path / "stderr").read_text().splitlines()
    assert line.endswith(" WARNING look")
    assert line[:2] == "20"


def test_text_of_a_server_makes_no_line_of_its_own_and_controls_no_terminal(tmp_path: Path) -> None:
    file = tmp_path / "log" / "agent.log"
    logs.set_up("info", file, {})
    log.info("connected to %s", "x\n2026-01-01T00:00:00+0000 INFO a forged line\x1b]0;title\x07")
    (line,) = file.read_text().splitlines()
    assert "\x1b" not in line


def test_rotated_log_file_is_opened_again(tmp_path: Path) -> None:
    file = tmp_path / "log" / "agent.log"
    logs.set_up("info", file, {})
    log.info("before")
    file.rename(tmp_path / "agent.log.1")
    log.info("after")
    assert (tmp_path / "agent.log.1").read_text().endswith("before\n")
    assert file.read_text().endswith("after\n")


def test_log_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("no directory")
    with pytest.raises(UnavailableError, match="cannot log to") as caught:
        logs.set_up("info", tmp_path / "log" / "agent.log", {})
    assert caught.value.code == "AGENT-015"


def test_log_file_is_not_for_everybody_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        logs.set_up("info", tmp_path / "log/agent.log", {})
    finally:
        os.umask(before)
        logs.set_up("info", None, {})
    assert (tmp_path / "log/agent.log").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o755
