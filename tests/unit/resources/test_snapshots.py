"""Snapshots are taken once, are stale after a change, and are correct when threads race."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from precast.resources.snapshots import Snapshots


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def take(self) -> int:
        self.count += 1
        return self.count


def test_snapshot_is_taken_once_and_again_after_a_change_of_its_kind() -> None:
    snapshots, packages, users = Snapshots(), Counter(), Counter()
    assert [snapshots.get("package", packages.take) for _ in range(3)] == [1, 1, 1]
    assert snapshots.get("user", users.take) == 1
    snapshots.forget(["package"])
    assert (snapshots.get("package", packages.take), snapshots.get("user", users.take)) == (2, 1)
    snapshots.forget()
    assert (snapshots.get("package", packages.take), snapshots.get("user", users.take)) == (3, 2)


def test_failure_is_not_kept() -> None:
    snapshots = Snapshots()
    with pytest.raises(ZeroDivisionError):
        snapshots.get("x", lambda: 1 // 0)
    assert snapshots.get("x", lambda: 2) == 2


def test_threads_that_ask_together_share_one_taking() -> None:
    snapshots, counter = Snapshots(), Counter()
    barrier = threading.Barrier(8)

    def ask(_: int) -> int:
        barrier.wait()
        return snapshots.get("x", counter.take)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == {1}


def test_snapshot_taken_during_a_change_is_not_kept() -> None:
    snapshots, counter = Snapshots(), Counter()

    def overtaken() -> int:
        snapshots.forget(["x"])
        return counter.take()

    assert snapshots.get("x", overtaken) == 1
    assert snapshots.get("x", counter.take) == 2


def test_who_can_tell_is_asked_after_a_change_and_taken_anew_only_if_stale() -> None:
    snapshots, counter, is_true = Snapshots(), Counter(), [True]

    def get() -> int:
        return snapshots.get("owners", counter.take, lambda kept: is_true[0])

    assert (get(), get()) == (1, 1)
    snapshots.forget()
    assert (get(), get()) == (1, 1)
    snapshots.forget(["owners"])
    is_true[0] = False
    assert (get(), get()) == (2, 2)
