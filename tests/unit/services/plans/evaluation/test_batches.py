"""Batches: what is sent once, and how problems are told."""

import msgspec

from precast.plans import issues
from precast.plans.model import Position
from precast.services.plans.evaluation.batches import Answer, Batch, Failure, NodeData, Question, gather_problems
from precast.services.plans.evaluation.messages import NOTHING, Evaluation, Value
from precast.services.plans.evaluation.requests import RequestWriter, group_by_node
from tests.unit.services.plans.evaluation.evaluating import reply_to


def question(node: str, expression: str = "$.a", old: str = "") -> Question:
    return Question("web", "condition", expression, node, old, True, Position("a.yaml", 3, 5))


def test_questions_are_grouped_by_node_and_earlier_data() -> None:
    questions = [question("b", old="y"), question("a"), question("b"), question("b", old="x"), question("b", old="y")]
    assert group_by_node(questions) == [[2, 3, 0, 4], [1]]


def test_expressions_and_common_data_are_sent_once() -> None:
    common = {"c": 1}
    nodes = {"a": NodeData({"n": "a"}, common), "b": NodeData({"n": "b"}, common), "c": NodeData({"n": "c"}, {"c": 1})}
    writer = RequestWriter(Batch([], nodes, {}, {"p": 1}))
    first = writer.write([question("a"), question("a", "$.b")])
    assert first.expressions == {0: "$.a", 1: "$.b"}
    assert sorted(first.documents.values()) == [b'{"c":1}', b'{"n":"a"}', b'{"p":1}']
    assert first.forget == [first.node]
    for name in ("b", "c"):
        later = writer.write([question(name), question(name, "$.b")])
        assert later.expressions == {}
        assert list(later.documents.values()) == [msgspec.json.encode({"n": name})]
        assert later.common == first.common
        assert later.evaluations == first.evaluations


def test_earlier_data_is_sent_with_the_questions_about_its_node() -> None:
    common = {"c": 1}
    batch = Batch([], {"a": NodeData({"n": 1}, common)}, {"x": NodeData({"n": 0}, common)})
    request = RequestWriter(batch).write([question("a"), question("a", old="x")])
    [first, second] = request.evaluations
    assert first == Evaluation(0, True, first.parameters)
    assert (second.expression, second.is_condition, second.old_common) == (0, True, request.common)
    assert request.documents[second.old_node] == b'{"n":0}'
    assert request.forget == [request.node, second.old_node]


def test_question_without_a_node_is_only_read() -> None:
    request = RequestWriter(Batch([])).write([Question("web", "condition", "$.a")])
    assert request.node == NOTHING
    assert [evaluation.old_node for evaluation in request.evaluations] == [NOTHING]


def test_arguments_of_an_included_plan_win_over_the_parameters() -> None:
    arguments = {"b": 3}
    one = question("a", "$parameters")._replace(arguments=arguments, is_condition=False)
    other = question("a", "$parameters")._replace(is_condition=False)
    replies = reply_to(Batch([one, other, one], {"a": NodeData({})}, {}, {"a": 1, "b": 2}))
    assert replies == [Value(b'{"a":1,"b":3}'), Value(b'{"a":1,"b":2}'), Value(b'{"a":1,"b":3}')]


def test_problem_of_many_nodes_is_told_once() -> None:
    failed = Answer(failure=Failure(issues.EXPRESSION_FAILED, "there is no key 'a'"))
    other = Answer(failure=Failure(issues.EXPRESSION_FAILED, "there is no key 'b'"))
    questions = [question("n1"), question("n2"), question("n3"), question("n4"), question("n5")]
    first, second = gather_problems(questions, [failed, other, failed, Answer(True), failed])
    assert first.text == "the condition of task web cannot be evaluated on n1 and 2 other nodes: there is no key 'a'"
    assert (first.code, first.at) == (issues.EXPRESSION_FAILED.code, Position("a.yaml", 3, 5))
    assert second.text == "the condition of task web cannot be evaluated on n2: there is no key 'b'"


def test_problem_of_an_expression_that_was_only_read_names_no_node() -> None:
    answer = Answer(failure=Failure(issues.BAD_EXPRESSION, "it ends too early"))
    [problem] = gather_problems([question("")], [answer])
    assert problem.text == "the condition of task web cannot be read: it ends too early"
