"""Evaluates expressions in this process, without limits of time: for tests of what expressions mean."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import msgspec

from precast.services.plans.evaluation.batches import Batch, NodeData, Question
from precast.services.plans.evaluation.messages import Failed, Invalid, Reply, Value
from precast.services.plans.evaluation.requests import RequestWriter, group_by_node
from precast.services.plans.evaluation.worker import Worker


def reply_to(batch: Batch) -> list[Reply]:
    """The replies to a batch, from one worker."""
    worker, writer = Worker(nullcontext), RequestWriter(batch)
    replies: dict[int, Reply] = {}
    for group in group_by_node(batch.questions):
        request = writer.write([batch.questions[index] for index in group])
        replies.update(zip(group, worker.answer(request), strict=True))
    return [replies[index] for index in range(len(batch.questions))]


def ask(
    expression: str,
    data: Mapping[str, Any],
    old: Mapping[str, Any] | None = None,
    *,
    common: Mapping[str, Any] | None = None,
    old_common: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    is_condition: bool = False,
) -> Reply:
    """The reply to one question."""
    olds = {} if old is None else {"old": NodeData(old, old_common or {})}
    question = Question("t", "condition", expression, "n", "" if old is None else "old", is_condition)
    return reply_to(Batch([question], {"n": NodeData(data, common or {})}, olds, parameters or {}))[0]


def evaluate(expression: str, data: Mapping[str, Any], old: Mapping[str, Any] | None = None, **others: Any) -> Any:
    """The value of an expression."""
    reply = ask(expression, data, old, **others)
    assert isinstance(reply, Value), reply
    return msgspec.json.decode(reply.json)


def reason(expression: str, data: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> str:
    """Why an expression has no value."""
    reply = ask(expression, data, old)
    assert isinstance(reply, Failed | Invalid), reply
    return reply.reason


def evaluate_all(expressions: Sequence[str], data: Mapping[str, Any]) -> list[Any]:
    return [evaluate(expression, data) for expression in expressions]
