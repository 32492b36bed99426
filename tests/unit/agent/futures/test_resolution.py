"""What a need gets, from which source, and with which words it gets nothing."""

import pytest

from precast.agent.futures.key_states import KeyState, Moment, State
from precast.agent.futures.resolution import Failed, Known, Pending, Resolution, Sources, Unavailable, resolve
from precast.base.clock import ManualClock
from precast.catalog.futures import Need

NOW = Moment.take(ManualClock(), "boot1")
ONE, ALL = Need("k"), Need("k", many=True)


def member(node: str, state: State, reason: str = "", left_s: float | None = None) -> KeyState:
    return KeyState(
        "k", node, state, 1, b"1" if state == "fulfilled" else b"", left_s=left_s, reason=reason, boot_id="boot1"
    )


def standing(node: str, state: State = "fulfilled") -> KeyState:
    return KeyState("k", node, state, 1, b"2", is_standing=True)


def in_job(need: Need, *states: KeyState, bound: tuple[KeyState, ...] = (), is_answered: bool = True) -> Resolution:
    return resolve(need, Sources(states, bound, in_job=True, is_answered=is_answered), NOW)


def nodes(found: Resolution) -> list[str]:
    assert isinstance(found, Known), found
    return [state.node for state in found.states]


def test_value_of_the_job_comes_before_the_standing_one() -> None:
    assert nodes(in_job(ONE, member("db1", "fulfilled"), standing("db2"))) == ["db1"]
    assert in_job(ONE, member("db1", "pending"), standing("db2")) == Pending(("db1",))


def test_standing_value_counts_if_no_member_promises_the_key() -> None:
    assert nodes(in_job(ONE, standing("db2"))) == ["db2"]
    assert nodes(in_job(ONE, standing("db2", "failed"), bound=(standing("db3"),))) == ["db3"]


def test_last_bound_value_counts_last_and_only_while_it_may_be_used() -> None:
    assert nodes(resolve(ONE, Sources([], [standing("db3")]), NOW)) == ["db3"]
    assert isinstance(resolve(ONE, Sources([], [member("db3", "fulfilled", left_s=0.0)]), NOW), Unavailable)


def test_nobody_who_promises_is_said_at_once() -> None:
    found = in_job(ONE)
    assert isinstance(found, Unavailable)
    assert found.reason.startswith("nobody in this job promises k")


def test_job_that_no_server_has_described_yet_is_waited_for() -> None:
    assert in_job(ONE, is_answered=False) == Pending()
    assert resolve(ONE, Sources([], in_job=True, error="there is no such catalog"), NOW) == Failed(
        "k cannot be read: there is no such catalog"
    )


def test_two_producers_of_a_single_value_are_named() -> None:
    for found in (
        in_job(ONE, member("a", "pending"), member("b", "fulfilled")),
        in_job(ONE, standing("a"), standing("b")),
    ):
        assert isinstance(found, Failed)
        assert "a, b" in found.reason


def test_failed_producer_gives_its_reason() -> None:
    found = in_job(ONE, member("db1", "failed", "its run failed at Service[postgresql]"))
    assert found == Failed("there will be no value of k, promised by db1: its run failed at Service[postgresql]")


def test_expired_value_is_never_used() -> None:
    found = in_job(ONE, member("db1", "fulfilled", left_s=0.0))
    assert isinstance(found, Failed)
    assert "its value has expired" in found.reason


@pytest.mark.parametrize(
    ("need", "states", "expected"),
    [
        (ALL, "ff", "ff"),
        (ALL, "fp", None),
        (ALL, "fx", "failed"),
        (Need("k", True, at_least=1), "fp", "f"),
        (Need("k", True, at_least=1), "fx", "f"),
        (Need("k", True, at_least=2), "fpx", None),
        (Need("k", True, at_least=2), "fxx", "failed"),
        (Need("k", True, at_least=3), "ff", "failed"),
        (Need("k", True, at_least_percent=50), "ffp", "ff"),
        (Need("k", True, at_least_percent=50), "fpp", None),
        (Need("k", True, at_least=0), "pp", ""),
    ],
)
def test_values_of_many_nodes_are_ready_when_enough_are_there(need: Need, states: str, expected: str | None) -> None:
    names: dict[str, State] = {"f": "fulfilled", "p": "pending", "x": "failed"}
    found = in_job(need, *(member(f"n{index}", names[letter]) for index, letter in enumerate(states)))
    if expected is None:
        assert isinstance(found, Pending)
    elif expected == "failed":
        assert isinstance(found, Failed)
    else:
        assert len(nodes(found)) == len(expected)


def test_failed_nodes_are_absent_and_named() -> None:
    found = in_job(Need("k", True, at_least=1), member("a", "fulfilled"), member("b", "failed", "its disk is full"))
    assert isinstance(found, Known)
    assert [(state.node, state.reason) for state in found.absent] == [("b", "its disk is full")]
