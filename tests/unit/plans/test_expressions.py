"""Expressions in the parameters of a task are found where they stand, and replaced there."""

from precast.plans.expressions import TaskExpression, fill_in, find_expressions
from precast.plans.model import PlanTask, Position

AT = Position("a.yaml", 1, 1)


def test_expressions_are_found_at_every_depth() -> None:
    task = PlanTask(
        "t",
        "copy_files",
        AT,
        parameters={
            "cmd": {"yaql_exp": "$.a"},
            "files": [{"src": "x"}, {"src": {"yaql_exp": "$.b"}}],
            "plain": {"a": 1},
        },
    )
    assert find_expressions(task) == [TaskExpression(("cmd",), "$.a"), TaskExpression(("files", 1, "src"), "$.b")]
    assert [expression.name for expression in find_expressions(task)] == ["parameters.cmd", "parameters.files.1.src"]


def test_mapping_with_more_than_an_expression_is_a_mapping() -> None:
    parameters = {
        "data": {"yaql_exp": "$.a", "b": 1},
        "other": {"yaql_exp": {"yaql_exp": "$.c"}},
        "number": {"yaql_exp": 3},
    }
    task = PlanTask("t", "upload_file", AT, parameters=parameters)
    assert find_expressions(task) == [TaskExpression(("other", "yaql_exp"), "$.c")]


def test_values_stand_in_the_places_of_their_expressions() -> None:
    task = PlanTask(
        "t", "shell", AT, parameters={"cmd": {"yaql_exp": "$.a"}, "files": [1, {"src": {"yaql_exp": "$.b"}}]}
    )
    filled = fill_in(task, {("cmd",): "echo", ("files", 1, "src"): {"yaql_exp": "is data"}})
    assert filled.parameters == {"cmd": "echo", "files": [1, {"src": {"yaql_exp": "is data"}}]}
    assert find_expressions(task)  # the task itself is as before


def test_task_without_values_is_itself() -> None:
    task = PlanTask("t", "shell", AT, parameters={"cmd": "true"})
    assert fill_in(task, {}) is task
