"""The agent's local store: its content, its file modes, and what happens when it is damaged, of another version, or full."""

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from precast.agent.state import store as store_module
from precast.agent.state.schema import MIGRATIONS
from precast.agent.state.spool import MAX_BODY_BYTES, Importance, Spool, SpoolLimits
from precast.agent.state.store import LocalStore, note_received, set_aside, store_path
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, InputError, UnavailableError
from precast.wire.sessions import LOSS, MAX_ATTEMPTS, LossBody
from tests.unit.agent.state.records import record

FIRST_SCHEMA = MIGRATIONS


class Note(msgspec.Struct, frozen=True):
    text: str


def opened(root: Path, instance: str = "one") -> LocalStore:
    return LocalStore.open(root, lambda: instance)


def test_store_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        store.write_note(Note("a"))
        names = sorted(path.name for path in store_path(tmp_path).parent.iterdir())
        assert names == ["state.db", "state.db-shm", "state.db-wal"]
        assert {stat.S_IMODE(path.stat().st_mode) for path in store_path(tmp_path).parent.iterdir()} == {0o600}
        assert store.read("PRAGMA journal_mode") == [("wal",)]
        assert store.read("PRAGMA synchronous") == [(2,)]
    assert stat.S_IMODE(store_path(tmp_path).parent.stat().st_mode) == 0o700


def test_instance_stays_with_the_file_and_notes_are_replaced(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        assert store.read_note(Note) is None
        store.write_note(Note("a"))
        store.write_note(Note("b"))
    with closing(opened(tmp_path, "two")) as store:
        assert store.session_state().instance == "one"
        assert store.read_note(Note) == Note("b")


def test_attempts_are_bounded_and_none_of_them_is_forgotten(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        for number in range(MAX_ATTEMPTS + 5):
            attempts = store.add_attempt(f"a{number}")
        # A server may have stored any of them, also the oldest. The newest is repeated.
        assert attempts == [f"a{number}" for number in reversed(range(MAX_ATTEMPTS))]
        store.drop_attempt(attempts[0])
        assert store.add_attempt("new") == ["new", *attempts[1:]]


def test_number_of_a_received_record_only_grows(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        assert store.session_state().received_at is None
        with store.transaction() as db:
            assert note_received(db, record(1))
            assert not note_received(db, record(1))
            assert note_received(db, record(2))
        state = store.session_state()
        assert (state.received, state.received_at) == (2, record(2).at)


def test_two_processes_share_the_store(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        script = (
            "import sys; from pathlib import Path; from precast.agent.state.store import LocalStore;"
            "from precast.agent.state.spool import Spool, SpoolLimits, Importance;"
            "spool = Spool(LocalStore.open(Path(sys.argv[1]), lambda: 'x'), SpoolLimits());"
            "[spool.put('event', b'1', Importance.EVENT) for _ in range(50)]"
        )
        others = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path)]) for _ in range(2)]
        spool = Spool(store, SpoolLimits())
        for _ in range(50):
            spool.put("event", b"2", Importance.EVENT)
        assert [process.wait(60) for process in others] == [0, 0]
        assert spool.counts().unsent == 150


@pytest.mark.parametrize("damage", ["garbage", "cut", "page"])
def test_damaged_store_is_refused_and_can_be_set_aside(tmp_path: Path, damage: str) -> None:
    with closing(opened(tmp_path)) as store:
        spool = Spool(store, SpoolLimits())
        for _ in range(50):
            spool.put("event", b'"' + b"x" * 1000 + b'"', Importance.EVENT)
    path = store_path(tmp_path)
    data = path.read_bytes()
    assert len(data) > 40_000
    if damage == "garbage":
        path.write_bytes(b"this is not a database " * 1000)
    elif damage == "cut":
        path.write_bytes(data[: len(data) // 2 // 4096 * 4096])
    else:
        path.write_bytes(data[:8192] + bytes(4096) + data[12288:])
    with pytest.raises(UnavailableError, match="is damaged") as caught, closing(opened(tmp_path)) as store:
        store.check()
    assert caught.value.code == "AGENT-011"
    kept = set_aside(path, datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert kept.name == "state.db.damaged-20300102T030405Z"
    with closing(opened(tmp_path, "two")) as store:
        store.check()
        assert store.session_state().instance == "two"


def test_store_of_an_earlier_version_is_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(opened(tmp_path)) as store:
        store.write_note(Note("a"))
    later = ("CREATE TABLE colour (name TEXT);\nINSERT INTO colour VALUES ('blue');\n", "DELETE FROM colour;\n")
    for count, colours in ((1, [("blue",)]), (2, [])):
        monkeypatch.setattr(store_module, "MIGRATIONS", (*FIRST_SCHEMA, *later[:count]))
        with closing(opened(tmp_path, "two")) as store:
            assert store.read("SELECT name FROM colour") == colours
            assert store.read("PRAGMA user_version") == [(1 + count,)]
            assert (store.read_note(Note), store.session_state().instance) == (Note("a"), "one")


def test_migration_that_fails_leaves_the_store_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(tmp_path).close()
    with monkeypatch.context() as later:
        later.setattr(store_module, "MIGRATIONS", (*FIRST_SCHEMA, "CREATE TABLE colour (name TEXT);\nnonsense;\n"))
        with pytest.raises(UnavailableError):
            opened(tmp_path)
    with closing(opened(tmp_path)) as store:
        assert store.read("SELECT 1 FROM sqlite_master WHERE name = 'colour'") == []


def test_store_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with closing(sqlite3.connect(store_path(tmp_path))) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(ConflictError, match="newer Precast") as caught:
        opened(tmp_path)
    assert caught.value.code == "AGENT-012"


def test_directory_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("a file")
    with pytest.raises(UnavailableError, match="Not a directory"):
        opened(tmp_path)


def test_record_too_large_to_send_is_refused(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        spool = Spool(store, SpoolLimits())
        spool.put("facts", b"x" * MAX_BODY_BYTES, Importance.ROUTINE)
        with pytest.raises(InputError, match="more than"):
            spool.put("facts", b"x" * (MAX_BODY_BYTES + 1), Importance.ROUTINE)


def test_loss_is_told_by_kind_with_when_it_began_and_ended(tmp_path: Path) -> None:
    clock = ManualClock()
    with closing(LocalStore.open(tmp_path, lambda: "one", clock)) as store:
        spool = Spool(store, SpoolLimits(records=4))
        for number in range(6):
            spool.put("event" if number % 2 else "noise", b"1", Importance.EVENT)
            clock.advance(1)
        spool.put("result", b"1", Importance.RESULT)
        kinds = [kind for (kind,) in store.read("SELECT kind FROM record ORDER BY id")]
        losses = [
            msgspec.json.decode(body, type=LossBody)
            for (body,) in store.read("SELECT body FROM record WHERE kind = ? ORDER BY id", (LOSS,))
        ]
    assert kinds == [LOSS, LOSS, "event", "result"]
    assert [(loss.kind, loss.count, (loss.last_at - loss.first_at).total_seconds()) for loss in losses] == [
        ("noise", 3, 4.0),
        ("event", 2, 2.0),
    ]


def test_acknowledged_records_are_kept_for_the_horizon_and_no_longer(tmp_path: Path) -> None:
    clock = ManualClock()
    with closing(LocalStore.open(tmp_path, lambda: "one", clock)) as store:
        spool = Spool(store, SpoolLimits())
        for _ in range(3):
            spool.put("event", b"1", Importance.EVENT)
        spool.begin_session("a", 1, 0, 60.0, "")
        spool.next_batch(0, 10, 1000)
        spool.acknowledge(1)
        clock.advance(60)
        spool.acknowledge(2)
        assert spool.number_range() == (1, 3)
        clock.advance(1)
        spool.acknowledge(2)
        assert spool.number_range() == (2, 3)
        assert spool.begin_session("a", 2, 0, 60.0, "") == 1
        assert [record.number for record in spool.next_batch(1, 10, 1000)] == [2, 3]


@pytest.mark.parametrize("jump_s", [3600.0, 40 * 86_400.0])
def test_clock_that_is_set_deletes_no_acknowledged_record_before_a_horizon_has_passed(
    tmp_path: Path, jump_s: float
) -> None:
    clock = ManualClock()
    with closing(LocalStore.open(tmp_path, lambda: "one", clock)) as store:
        spool = Spool(store, SpoolLimits())
        for _ in range(3):
            spool.put("event", b"1", Importance.EVENT)
        spool.begin_session("a", 1, 0, 600.0, "")
        spool.next_batch(0, 10, 1000)
        clock.advance(1000)
        spool.acknowledge(1)
        clock.set_ahead(jump_s)
        spool.acknowledge(2)
        assert spool.number_range() == (1, 3)
        # Those that were acknowledged by a clock that was behind look old after its correction.
        clock.set_back(2 * jump_s)
        spool.acknowledge(3)
        clock.set_ahead(jump_s)
        spool.acknowledge(3)
        clock.advance(599)
        spool.acknowledge(3)
        assert spool.number_range() == (1, 3)
        clock.advance(2)
        spool.acknowledge(3)
        assert spool.number_range() == (2, 3), "the second was acknowledged in the future"


def test_file_shrinks_when_its_records_are_deleted(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        spool = Spool(store, SpoolLimits())
        for _ in range(200):
            spool.put("event", b'"' + b"x" * 10_000 + b'"', Importance.EVENT)
        spool.next_batch(0, 1000, 10**9)
        spool.begin_session("a", 1, 0, -1.0, "")
        spool.acknowledge(200)
        assert spool.counts() == (0, 0, 0, 0, 0)
        assert store.read("PRAGMA page_count")[0][0] < 30
