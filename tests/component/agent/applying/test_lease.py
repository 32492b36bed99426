"""The lease allows one run at a time; what a run stores."""

from pathlib import Path

import pytest

from precast.agent.applying.lease import is_run_active, lease_held
from precast.agent.applying.resource_memory import ResourceMemory
from precast.agent.state.store import LocalStore
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError

CLOCK = ManualClock()


def opened(root: Path) -> LocalStore:
    return LocalStore.open(root, lambda: "i", CLOCK)


def test_second_run_is_refused_and_names_the_holder(tmp_path: Path) -> None:
    store, other = opened(tmp_path), opened(tmp_path)
    with lease_held(store, "the first") as first:
        assert is_run_active(store.path.parent)
        with pytest.raises(PrecastError, match="the first") as caught, lease_held(other, "the second"):
            pass
    assert caught.value.code == "APPLY-001"
    assert not is_run_active(store.path.parent)
    with lease_held(other, "the second") as second:
        assert second.token == first.token + 1
    store.close()
    other.close()


def test_run_that_has_lost_its_lease_can_no_longer_write(tmp_path: Path) -> None:
    store, other = opened(tmp_path), opened(tmp_path)
    with lease_held(store, "old") as old:
        (store.path.parent / "run.lock").unlink()
        with lease_held(other, "new") as new:
            memory = ResourceMemory.load(store)
            memory.remember("File[/a]", {"mode": "0644"})
            with pytest.raises(PrecastError) as caught:
                memory.save(store, old)
            assert caught.value.code == "APPLY-002"
            assert ResourceMemory.load(other).state("File[/a]") == {}
            memory.save(other, new)
    assert ResourceMemory.load(store).state("File[/a]") == {"mode": "0644"}
    store.close()
    other.close()


def test_memory_stores_states_and_times_but_no_secrets(tmp_path: Path) -> None:
    store = opened(tmp_path)
    with lease_held(store, "me") as lease:
        memory = ResourceMemory.load(store)
        memory.remember("User[u]", {"password": "hunter2", "groups": ["a", "b"], "comment": "x" * 500}, {"password"})
        memory.note_applied("User[u]", CLOCK.now())
        memory.save(store, lease)
    again = ResourceMemory.load(store)
    kept = again.state("User[u]")
    assert kept["groups"] == ["a", "b"]
    assert "hunter2" not in str(kept)
    assert again.is_same(kept["password"], "hunter2")
    assert not again.is_same(kept["password"], "hunter3")
    assert again.is_same(kept["comment"], "x" * 500)
    assert again.applied_at("User[u]") == CLOCK.now()
    assert b"hunter2" not in store.path.read_bytes()
    store.close()
