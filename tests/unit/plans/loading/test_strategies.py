"""How many nodes do a task at a time."""

from typing import Any

import pytest

from tests.unit.plans.loading.plan_texts import attributes, lines, load, load_task

_LABEL = "strategy of parameters of task web"
_AMOUNT = "a number of nodes, or a percentage such as '30%'"
_NAMES = ("at_once", "at_once_percent", "has_canary")


def _head(strategy: str) -> str:
    return f"- id: web\n  type: shell\n  roles: [web]\n  parameters:\n    cmd: x\n    strategy: {strategy}\n"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{type: parallel}", (None, None, False)),
        ("{type: parallel, amount: 6}", (6, None, False)),
        ("{type: parallel, amount: '6'}", (6, None, False)),
        ("{type: parallel, amount: 30%}", (None, 30, False)),
        ("{amount: 6, canary: true}", (6, None, True)),
        ("{type: one_by_one}", (1, None, False)),
        ("{type: one_by_one, canary: true}", (1, None, True)),
        ("one_by_one", (1, None, False)),
        ("parallel", (None, None, False)),
        ("{canary: false}", (None, None, False)),
        ("", (None, None, False)),
    ],
)
def test_strategy_is_read_from_parameters(written: str, expected: tuple[Any, ...]) -> None:
    assert tuple(attributes(load_task("", _head(written)), *_NAMES).values()) == expected


def test_strategy_outside_parameters_is_read_with_a_warning() -> None:
    loaded = load("- {id: a, type: skipped, roles: x, strategy: {amount: 2}}")
    assert lines(loaded.warnings) == ["1:36 PLAN-022 strategy of task a stands outside its parameters"]
    assert loaded.plan is not None
    assert loaded.plan.tasks[0].at_once == 2


@pytest.mark.parametrize(
    ("written", "expected", "warning"),
    [
        ("{type: one-by-one}", 1, "6:22 PLAN-021 type of STRATEGY is one-by-one, which is read as one_by_one"),
        ("one-by-one", 1, "6:15 PLAN-021 STRATEGY is one-by-one, which is read as one_by_one"),
        ("{type: one_by_one, amount: 3}", 1, "6:42 PLAN-023 amount of STRATEGY has no effect: the type of the strategy is one_by_one"),
        ("{amount: {yaql_exp: $.n}}", 1, "6:24 PLAN-024 amount of STRATEGY cannot be an expression; one node at a time does the task"),
        ("{amuont: 3}", None, "6:16 PLAN-020 amuont of STRATEGY is not known, and has no effect; did you mean amount?"),
    ],
)  # fmt: skip
def test_odd_strategy_is_a_warning_and_never_more_nodes_than_meant(
    written: str, expected: int | None, warning: str
) -> None:
    loaded = load(_head(written))
    assert lines(loaded.warnings) == [warning.replace("STRATEGY", _LABEL)]
    assert loaded.plan is not None
    assert loaded.plan.tasks[0].at_once == expected


@pytest.mark.parametrize(
    ("written", "error"),
    [
        ("{type: serial}", "6:22 PLAN-009 type of STRATEGY must be one of parallel, one_by_one, not 'serial'"),
        ("{type: paralel}", "6:22 PLAN-009 type of STRATEGY must be one of parallel, one_by_one, not 'paralel'"),
        ("[a]", "6:15 PLAN-009 STRATEGY must be a strategy, not a list"),
        ("{amount: 0}", "6:24 PLAN-009 amount of STRATEGY must be AMOUNT, not 0"),
        ("{amount: 0%}", "6:24 PLAN-009 amount of STRATEGY must be AMOUNT, not '0%'"),
        ("{amount: 101%}", "6:24 PLAN-009 amount of STRATEGY must be AMOUNT, not '101%'"),
        ("{amount: many}", "6:24 PLAN-009 amount of STRATEGY must be AMOUNT, not 'many'"),
        ("{amount: [1]}", "6:24 PLAN-009 amount of STRATEGY must be AMOUNT, not a list"),
        ("{canary: 2}", "6:24 PLAN-009 canary of STRATEGY must be true or false, not 2"),
    ],
)  # fmt: skip
def test_strategy_that_is_none_is_an_error_with_its_place(written: str, error: str) -> None:
    assert lines(load(_head(written)).errors) == [error.replace("STRATEGY", _LABEL).replace("AMOUNT", _AMOUNT)]


def test_misspelt_type_of_a_strategy_is_suggested() -> None:
    assert [error.hint for error in load(_head("{type: paralel}")).errors] == ["did you mean parallel?"]
