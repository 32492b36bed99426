"""Results by what was read: found for data that answers alike, bounded, and given up where nothing is alike."""

from collections.abc import Hashable, Mapping
from typing import Any

from precast.services.plans.evaluation.results import MAX_RESULTS, TRIAL, Question, ResultTree


def find(tree: ResultTree, data: Mapping[str, Any]) -> Any:
    """The stored value for data; None if there is none."""
    result = tree.find(lambda question: data.get(question[1]))
    return None if result is None else result.value


def reads(**answers: Hashable) -> dict[Question, Hashable]:
    return {("$", key): answer for key, answer in answers.items()}


def test_result_is_found_for_data_that_answers_alike() -> None:
    tree = ResultTree()
    tree.store(reads(a=1, b=2), "x")
    tree.store(reads(a=1, b=3), "y")
    tree.store(reads(a=2), "z")
    assert find(tree, {"a": 1, "b": 2, "c": 9}) == "x"
    assert find(tree, {"a": 1, "b": 3}) == "y"
    assert find(tree, {"a": 2, "b": 2}) == "z"
    assert find(tree, {"a": 3}) is None
    assert find(tree, {"a": 1}) is None


def test_result_that_reads_nothing_is_found_for_all_data() -> None:
    tree = ResultTree()
    assert find(tree, {}) is None
    tree.store({}, "x")
    assert find(tree, {"a": 1}) == "x"


def test_results_have_different_tokens() -> None:
    tree = ResultTree()
    assert tree.store(reads(a=1), "x").token != tree.store(reads(a=2), "x").token


def test_newest_reads_replace_others_of_the_same_answers() -> None:
    tree = ResultTree()
    tree.store(reads(a=1, b=2), "x")
    tree.store(reads(a=1, c=2), "y")
    assert find(tree, {"a": 1, "b": 2}) is None
    assert find(tree, {"a": 1, "c": 2}) == "y"


def test_only_the_newest_is_stored_if_nothing_is_alike() -> None:
    tree = ResultTree()
    for number in range(TRIAL + 2):
        tree.store(reads(a=number), number)
    assert find(tree, {"a": TRIAL + 1}) == TRIAL + 1
    assert find(tree, {"a": TRIAL}) is None
    assert find(tree, {"a": 0}) is None


def test_results_that_are_found_stay_until_the_tree_is_full() -> None:
    tree = ResultTree()
    for number in range(MAX_RESULTS):
        tree.store(reads(a=number), number)
        assert find(tree, {"a": number}) == number
    assert find(tree, {"a": 0}) == 0
    tree.store(reads(a=MAX_RESULTS), "new")
    assert find(tree, {"a": 0}) is None
    assert find(tree, {"a": MAX_RESULTS}) == "new"
