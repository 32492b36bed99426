"""Fair shares of slots: between environments, between the jobs of one, and the reserve for jobs that have nothing in flight."""

from precast.services.jobs.flow.fair_share import FairShare


def test_slots_are_shared_equally_between_environments() -> None:
    share = FairShare()
    for number in range(9):
        share.offer("production", f"p{number}", 100)
    share.offer("staging", "s", 100)
    taken = dict(share.take(64))
    assert taken.pop("s") == 30
    assert sorted(taken.values()) == [3, 3, 3, 3, 3, 3, 4, 4, 4]
    assert share.in_flight == 60  # nobody waits for the reserve


def test_slots_of_an_environment_are_shared_equally_between_its_jobs() -> None:
    share = FairShare()
    share.offer("production", "large", 10_000)
    share.offer("production", "small", 10)
    assert dict(share.take(16)) == {"large": 8, "small": 7}


def test_action_over_three_nodes_beside_one_over_10000_ends_first() -> None:
    share = FairShare()
    share.offer("production", "large", 10_000)
    assert share.take(1_000) == [("large", 937)]
    share.offer("production", "small", 3)
    assert share.take(1_000 - share.in_flight) == [("small", 1)]
    share.done("large", 100)
    assert dict(share.take(1_000 - share.in_flight)) == {"small": 2, "large": 97}


def test_reserve_is_given_to_jobs_with_nothing_in_flight_in_the_order_of_their_waiting() -> None:
    share = FairShare()
    share.offer("production", "long", 1_000)
    share.take(160)
    for job in ("b", "a", "c"):
        share.offer("production", job, 5)
    assert share.take(2) == [("b", 1), ("a", 1)]
    share.done("b", 1)
    assert share.take(2) == [("c", 1), ("b", 1)]
    assert share.take(2) == []


def test_offer_replaces_the_earlier_one() -> None:
    share = FairShare()
    share.offer("production", "job", 100)
    share.offer("production", "job", 2)
    assert share.take(100) == [("job", 2)]
    share.offer("production", "job", 100)
    share.offer("production", "job", 0)
    assert share.take(100) == []


def test_adopted_attempts_occupy_slots() -> None:
    share = FairShare()
    share.adopt("production", "old", 10)
    share.offer("production", "old", 10)
    share.offer("production", "new", 10)
    assert share.in_flight == 10
    assert share.take(6) == [("new", 5)]


def test_forgotten_job_frees_its_slots() -> None:
    share = FairShare()
    share.offer("production", "job", 100)
    share.take(40)
    share.forget("job")
    assert share.in_flight == 0
    assert share.take(40) == []


def test_end_of_attempts_of_an_unknown_job_changes_nothing() -> None:
    share = FairShare()
    share.done("unknown", 3)
    share.forget("unknown")
    share.offer("production", "job", 1)
    share.take(1)
    share.done("job", 5)
    assert share.in_flight == 0


def test_nothing_is_given_out_without_free_slots() -> None:
    share = FairShare()
    share.offer("production", "job", 1)
    assert share.take(0) == share.take(-3) == []
