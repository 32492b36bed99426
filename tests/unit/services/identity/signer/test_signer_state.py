"""The files of the signer: uses of tokens that two signers share, torn lines of a crash, compaction; the log over several files."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from precast.base.errors import PrecastError
from precast.services.identity.signer import signer_log, token_journal
from precast.services.identity.signer.signer_log import LogLine, SignerLog, verify
from precast.services.identity.signer.state import SignerState
from precast.services.identity.signer.token_journal import TokenJournal

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def opened(path: Path) -> TokenJournal:
    journal = TokenJournal(path)
    journal.refresh()
    return journal


def test_two_signers_of_one_directory_count_the_uses_of_a_token_together(tmp_path: Path) -> None:
    first, second = SignerState(tmp_path / "signer"), SignerState(tmp_path / "signer")
    granted = []
    for number in range(6):
        state = (first, second)[number % 2]
        with state.locked():
            granted.append(state.tokens.use("token", f"key{number}", 3, LATER))
            state.flush(NOW)
    assert granted == [True, True, True, False, False, False]
    with first.locked():
        assert first.tokens.use("token", "key1", 3, LATER)


def test_use_is_forgotten_if_it_could_not_be_written(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "tokens.jsonl"
    journal = TokenJournal(path)
    assert journal.use("token", "key", 1, LATER)
    with pytest.raises(OSError, match="No such file"):
        journal.flush(NOW)
    path.parent.mkdir()
    journal.refresh()
    assert journal.use("token", "other key", 1, LATER)
    journal.flush(NOW)
    assert not opened(path).use("token", "key", 1, LATER)


def test_torn_last_line_is_cut_off_and_the_rest_stays(tmp_path: Path) -> None:
    path = tmp_path / "tokens.jsonl"
    journal = opened(path)
    journal.use("token", "key1", 2, LATER)
    journal.revoke("other", LATER)
    journal.flush(NOW)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"id":"token","until":"2030')
    again = opened(path)
    assert path.read_bytes() == whole
    assert again.is_revoked("other")
    assert again.use("token", "key2", 2, LATER)
    again.flush(NOW)
    assert not opened(path).use("token", "key3", 2, LATER)


def test_expired_tokens_leave_the_journal_and_valid_ones_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_journal, "COMPACT_BYTES", 1000)
    path = tmp_path / "tokens.jsonl"
    journal = opened(path)
    for number in range(50):
        journal.use(f"old{number}", "key", 1, NOW)
    journal.use("token", "key1", 1, LATER)
    journal.revoke("person", LATER)
    journal.flush(NOW)
    assert path.stat().st_size < 1000
    again = opened(path)
    assert not again.use("token", "key2", 1, LATER)
    assert again.is_revoked("person")


def line(number: int) -> LogLine:
    return LogLine(NOW, "enrol", "signed", f"web{number}", 0, "")


def test_log_continues_its_chain_over_files_and_keeps_a_bounded_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signer_log, "KEEP", 3)
    path = tmp_path / "log.jsonl"
    for number in range(40):
        log = SignerLog(path, 500)  # another process each time
        log.add(line(number))
        log.flush()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["log.jsonl", *(f"log.jsonl.{n}" for n in (1, 2, 3))]
    assert 0 < verify(path).lines < 40
    middle = path.with_name("log.jsonl.2")
    first = middle.read_bytes()
    middle.write_bytes(first.replace(b"web", b"bad", 1))
    with pytest.raises(PrecastError, match=r"log\.jsonl"):
        verify(path)
    middle.write_bytes(first)
    middle.unlink()
    with pytest.raises(PrecastError, match="does not follow"):
        verify(path)


def test_torn_line_of_a_crash_does_not_break_the_chain(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = SignerLog(path, 10_000)
    log.add(line(1))
    log.flush()
    with path.open("ab") as file:
        file.write(b'{"at":"2030-01-01')
    assert verify(path).lines == 1, "a line that is not complete was not signed for, and nobody has changed the log"
    log.add(line(2))
    log.flush()
    assert verify(path).lines == 2
    assert json.loads(path.read_bytes().splitlines()[1])["subject"] == "web2"


def test_log_that_cannot_be_read_is_no_log_in_order(tmp_path: Path) -> None:
    with pytest.raises(PrecastError, match="No such file") as missing:
        verify(tmp_path / "log.jsonl")
    (tmp_path / "log.jsonl").mkdir()
    with pytest.raises(PrecastError, match="Is a directory") as unreadable:
        verify(tmp_path / "log.jsonl")
    assert {missing.value.code, unreadable.value.code} == {"CA-041"}
