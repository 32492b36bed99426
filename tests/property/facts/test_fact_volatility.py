"""Volatile paths against the simple rule: changed in more than half of the last ten submissions."""

from hypothesis import given
from hypothesis import strategies as st

from precast.services.facts.volatility import MAX_PATHS, WINDOW, RecentChanges, read_recent, write_recent

PATHS = [f"/path{at}" for at in range(4)]
# The changed paths of each submission; an empty one may be a known digest, which only increases the count.
submissions = st.lists(st.sets(st.sampled_from(PATHS)), max_size=40)


def volatile(recent: RecentChanges) -> set[str]:
    return {path for path in recent.paths if recent.is_volatile(path)}


def volatile_by_the_rule(past: list[set[str]]) -> set[str]:
    last = past[-WINDOW:]
    return {path for path in PATHS if sum(path in changed for changed in last) > WINDOW / 2}


@given(submissions)
def test_path_is_volatile_exactly_if_it_changed_in_more_than_half_of_the_last_ten(past: list[set[str]]) -> None:
    recent = RecentChanges()
    for number, changed in enumerate(past, start=1):
        if changed:
            recent = read_recent(write_recent(recent.after(number, changed)))
            assert volatile(recent) == volatile_by_the_rule(past[:number])
            assert recent.number == number


@given(submissions)
def test_path_is_stable_again_after_ten_submissions_without_a_change(past: list[set[str]]) -> None:
    recent = RecentChanges()
    for number, changed in enumerate(past, start=1):
        recent = recent.after(number, changed)
    assert volatile(recent.after(len(past) + WINDOW // 2, [])) <= volatile(recent)
    assert recent.after(len(past) + WINDOW, []).paths == {}


@given(st.integers(1, 3), st.integers(0, 2 * MAX_PATHS))
def test_record_is_bounded_and_the_most_changed_paths_stay(rounds: int, count: int) -> None:
    recent = RecentChanges()
    for number in range(1, WINDOW + 1):
        recent = recent.after(number, ["/always"])
    for number in range(WINDOW + 1, WINDOW + 1 + rounds):
        recent = recent.after(number, [f"/once/{number}/{at}" for at in range(count)])
    assert len(recent.paths) <= MAX_PATHS
    assert volatile(recent) == {"/always"}
