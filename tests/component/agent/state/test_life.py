"""The lives of a node on one machine: whatever opens the store discards an earlier life first, and its processes can write nothing more."""

from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from precast.agent.catalog.cached_catalog import catalog_path
from precast.agent.catalog.cached_policy import policy_path
from precast.agent.catalog.cached_release import next_release_path, release_path
from precast.agent.catalog.fetch import CONTENT
from precast.agent.identity.machine import read_machine
from precast.agent.state import store as store_module
from precast.agent.state.life import life_path, same_life
from precast.agent.state.paths import PLUGINS
from precast.agent.state.spool import Importance, Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.base.errors import ConflictError


class Note(msgspec.Struct, frozen=True):
    text: str


def opened(root: Path, instance: str, life: str | None = None) -> LocalStore:
    return LocalStore.open(root, lambda: instance, life=life)


def cached_files(root: Path) -> list[Path]:
    return [
        *(path(root) for path in (policy_path, release_path, next_release_path, catalog_path)),
        root / CONTENT / ("0" * 64),
        root / PLUGINS / "facts" / "evil.py",
    ]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine in its first life, with records, notes and cached files."""
    life_path(tmp_path).parent.mkdir(parents=True)
    life_path(tmp_path).write_text("one")
    with closing(opened(tmp_path, "first")) as store:
        spool = Spool(store, SpoolLimits())
        for _ in range(3):
            spool.put("event", b"1", Importance.EVENT)
        spool.next_batch(0, 1, 1000)
        spool.acknowledge(1)
        store.add_attempt("a1")
        store.write_note(Note("of the first life"))
    for path in cached_files(tmp_path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("of the first life")
    return tmp_path


def assert_new_life(store: LocalStore) -> None:
    state = store.session_state()
    assert (state.instance, state.attempts, state.epoch, state.received) == ("second", [], 0, 0)
    assert store.read("SELECT records, bytes, given, life FROM session") == [(0, 0, 0, "two")]
    assert store.read("SELECT count(*) FROM record") == store.read("SELECT count(*) FROM note") == [(0,)]


def test_store_of_an_earlier_life_is_discarded_when_it_is_opened(root: Path) -> None:
    life_path(root).write_text("two")
    with closing(opened(root, "second")) as store:
        assert store.dropped == 2
        assert_new_life(store)
    assert [path for path in cached_files(root) if path.exists()] == []
    with closing(opened(root, "third")) as store:
        assert (store.dropped, store.session_state().instance) == (None, "second")


def test_store_of_the_same_life_stays(root: Path) -> None:
    with closing(opened(root, "second")) as store:
        assert (store.dropped, store.session_state().instance) == (None, "first")
        assert store.read_note(Note) == Note("of the first life")
    assert all(path.exists() for path in cached_files(root))


def test_what_was_stored_before_the_first_enrolment_stays(tmp_path: Path) -> None:
    with closing(opened(tmp_path, "first")) as early:
        early.write_note(Note("before"))
        life_path(tmp_path).write_text("one")
        with closing(opened(tmp_path, "second")) as store:
            assert (store.dropped, store.life, store.session_state().instance) == (None, "one", "first")
            assert store.read_note(Note) == Note("before")
        early.write_note(Note("a daemon that waited for the enrolment goes on"))


def test_crash_while_a_life_is_discarded_leaves_nothing_of_it_in_use(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    life_path(root).write_text("two")

    def crash(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(store_module, "_discard_rows", crash)
        with pytest.raises(KeyboardInterrupt):
            opened(root, "never")
    assert [path for path in cached_files(root) if path.exists()] == []
    with closing(opened(root, "second")) as store:
        assert_new_life(store)


def test_process_of_an_earlier_life_writes_nothing_more(root: Path) -> None:
    with closing(opened(root, "first")) as old:
        life_path(root).write_text("two")
        with closing(opened(root, "second")) as store:
            with pytest.raises(ConflictError, match="was enrolled again"):
                old.write_note(Note("late"))
            with pytest.raises(ConflictError, match="was enrolled again"):
                Spool(old, SpoolLimits()).put("event", b"1", Importance.EVENT)
            assert_new_life(store)
        with pytest.raises(ConflictError, match="was enrolled again"), same_life(root, old.life):
            catalog_path(root).write_text("of the first life")
        with pytest.raises(ConflictError, match="was enrolled again"):
            opened(root, "third", life="one")
    with same_life(root, "two"):
        pass
    opened(root, "third", life="two").close()


@pytest.mark.parametrize(
    ("text", "machine_id"),
    [
        ("0c5e0ed7b2a14f6f9a3f8e4f1d1f9d11\n", "0c5e0ed7b2a14f6f9a3f8e4f1d1f9d11"),
        ("uninitialized\n", ""),
        ("", ""),
        ("../../etc\x00", ""),
        (None, ""),
    ],
)
def test_only_a_machine_id_that_lasts_is_given(tmp_path: Path, text: str | None, machine_id: str) -> None:
    (tmp_path / "etc").mkdir()
    if text is not None:
        (tmp_path / "etc/machine-id").write_text(text)
    read = read_machine(tmp_path)
    assert read.machine_id == machine_id
    assert read.boot_id
