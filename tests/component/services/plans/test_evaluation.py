"""Expressions in real processes: hostile ones fail alone, within bounds, and the others have their values."""

import asyncio
import importlib.util
import signal
import sys
import time

import pytest

from precast.base.confinement.children import ask
from precast.base.errors import UnavailableError
from precast.plans import issues
from precast.services.plans.evaluation import processes
from precast.services.plans.evaluation.batches import Answer, Batch, NodeData, Question
from precast.services.plans.evaluation.processes import OUT_OF_MEMORY, EvaluationLimits, PlanEvaluation

LIMITS = EvaluationLimits(expression_s=0.3, memory_bytes=300 * 1024 * 1024)
NODES = {name: NodeData({"name": name, "text": "a" * 60 + "!"}, {"a": {"b": 1}}) for name in ("n1", "n2", "n3")}
HOSTILE = {
    "an endless loop": "generate(0, true, $ + 1).where($ < 0)",
    "nested loops": "range(20000).select(range(20000).select(range(20000).len()))",
    "a regular expression": "$.text.matches('^(a|aa)+$')",
    "a huge power": "pow(3, 200000000)",
    "powers of powers": "range(60).aggregate($1 * $1, 10)",
    "a growing text": "range(60).aggregate(concat($1, $1), 'abcdefgh')",
    "a growing list": "range(60).aggregate($1 + $1, [1, 2, 3])",
    "a huge text": "'x' * 1000000000",
    "deep nesting": "(" * 4_000 + "1" + ")" * 4_000,
    "a chain of operators": " + ".join(["1"] * 4_000),
    "a sort": "range(20000).orderBy(range(20000).orderBy(-$).first())",
    "a memory of lists": "range(19000).select(range(19000).toList()).toList()",
}  # fmt: skip


def ask_all(expression: str) -> list[Question]:
    """A question with this expression and one without harm, about each node."""
    return [
        Question("t", "condition", text, node)
        for node in NODES
        for text in (expression, "concat($.name, str($.a.b))", "$.a.b")
    ]


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_expression_fails_alone(name: str) -> None:
    started_s = time.monotonic()
    answers = await PlanEvaluation(LIMITS).evaluate(Batch(ask_all(HOSTILE[name]), NODES))
    for number, node in enumerate(NODES):
        hostile, good, other = answers[3 * number : 3 * number + 3]
        assert hostile.failure is not None
        assert hostile.failure.issue is issues.EXPRESSION_LIMIT, hostile
        assert (good, other) == (Answer(f"{node}1"), Answer(1))
    assert time.monotonic() - started_s < 60


@pytest.mark.parametrize(
    "expression",
    [
        "$.__class__", "$.text.__class__", "$.get('__class__').x", "$.text.format", "'{0.__class__}'.format(1)", "call(eval, [1], {})",
        "$.text.decode('x')", "eval('1')", "open('/etc/passwd')", "import(os)", "$.items.__globals__", "getattr($, 'x')",
    ],
)  # fmt: skip
async def test_internals_of_python_cannot_be_reached(expression: str) -> None:
    [answer] = await PlanEvaluation(LIMITS).evaluate(Batch([Question("t", "condition", expression, "n1")], NODES))
    assert answer.failure is not None
    assert answer.failure.issue in (issues.BAD_EXPRESSION, issues.EXPRESSION_FAILED)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("$.a.lenn()", "there is no function lenn; did you mean len?"),
        ("now()", "there is no function now"),
        ("$parameter.x", "there is no variable $parameter; did you mean $parameters?"),
    ],
)
async def test_name_that_nothing_defines_is_told_with_the_nearest(expression: str, reason: str) -> None:
    [answer] = await PlanEvaluation(LIMITS).evaluate(Batch([Question("t", "condition", expression, "n1")], NODES))
    assert answer.failure is not None
    assert answer.failure.issue is issues.BAD_EXPRESSION
    assert reason in str(answer.failure)


async def test_several_hostile_expressions_cost_each_its_limit_once() -> None:
    nodes = {f"n{number}": NodeData({"text": "a" * 60 + "!"}) for number in range(30)}
    texts = [HOSTILE["a regular expression"], HOSTILE["a huge power"], "1 + 1"]
    questions = [Question("t", "condition", text, node) for node in nodes for text in texts]
    answers = await PlanEvaluation(LIMITS).evaluate(Batch(questions, nodes))
    assert [answer.value for answer in answers] == [None, None, 2] * 30
    assert sum(answer.failure is not None for answer in answers) == 60


async def test_batch_that_takes_too_long_is_given_up() -> None:
    limits = EvaluationLimits(expression_s=60.0, batch_s=1.0)
    with pytest.raises(UnavailableError) as caught:
        await PlanEvaluation(limits).evaluate(Batch(ask_all(HOSTILE["nested loops"]), NODES))
    assert issues.EVALUATION_LATE.matches(caught.value)


async def test_kernel_ends_a_process_that_does_not_react_in_time() -> None:
    script = """
import signal
from precast.services.plans.evaluation.child import _limited
signal.signal(signal.SIGPROF, signal.SIG_IGN)
with _limited(0.1):
    while True:
        pass
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
    assert await process.wait() == -signal.SIGVTALRM


# It answers the first request, and is ended by the kernel within the next, as if in an operation that cannot be interrupted.
DYING = """
import os, signal, sys
from precast.base.frames import make_frame, read_frame
read_frame(sys.stdin.buffer)
sys.stdout.buffer.write(make_frame(b"\\x90"))
sys.stdout.flush()
read_frame(sys.stdin.buffer)
os.kill(os.getpid(), signal.SIGVTALRM)
"""


@pytest.fixture
def dying_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EvaluationLimits, "command", lambda limits: [sys.executable, "-c", DYING])


@pytest.mark.usefixtures("dying_processes")
async def test_process_that_the_kernel_ends_fails_the_expression_that_it_was_asked_alone() -> None:
    answers = await PlanEvaluation(LIMITS).evaluate(Batch(ask_all("1"), NODES))
    assert {answer.failure and answer.failure.issue for answer in answers} == {issues.EXPRESSION_LIMIT}
    assert {answer.failure and answer.failure.reason for answer in answers} == {
        "it needs more than 0.3 s of processor time"
    }


@pytest.mark.usefixtures("dying_processes")
async def test_batch_that_loses_too_many_processes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MAX_LOST", 1)
    with pytest.raises(UnavailableError) as caught:
        await PlanEvaluation(LIMITS).evaluate(Batch(ask_all("1"), NODES))
    assert issues.EVALUATION_FAILED.matches(caught.value)
    assert "ended with code -26" in caught.value.message


async def test_process_that_cannot_be_started_is_no_fault_of_an_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EvaluationLimits, "command", lambda limits: [sys.executable, "-c", "raise SystemExit(75)"])
    with pytest.raises(UnavailableError) as caught:
        await PlanEvaluation(LIMITS).evaluate(Batch(ask_all("1"), NODES))
    assert issues.EVALUATION_FAILED.matches(caught.value)


async def test_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UnavailableError) as caught:
        await PlanEvaluation(LIMITS).evaluate(Batch(ask_all("1"), NODES))
    assert issues.NO_YAQL.matches(caught.value)
    assert await PlanEvaluation(LIMITS).evaluate(Batch([])) == []


async def test_batches_beyond_the_limit_wait() -> None:
    evaluation = PlanEvaluation(LIMITS._replace(processes=1))
    answers = await asyncio.gather(*(evaluation.evaluate(Batch(ask_all("$.name"), NODES)) for _ in range(3)))
    assert [[answer.value for answer in batch[::3]] for batch in answers] == [["n1", "n2", "n3"]] * 3


async def test_cancelled_batch_ends_its_process() -> None:
    evaluation = PlanEvaluation(LIMITS._replace(processes=1, expression_s=600.0))
    task = asyncio.create_task(evaluation.evaluate(Batch(ask_all(HOSTILE["nested loops"]), NODES)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(await evaluation.evaluate(Batch(ask_all("1"), NODES))) == 9  # its turn is free again


async def test_process_is_confined() -> None:
    measures = {measure.name: measure for measure in await ask(LIMITS.command())}
    for name in ("files", "system calls", "limits", "network"):
        assert measures[name].is_enforced, measures[name]


def test_exit_code_of_a_process_without_memory_is_known_to_the_server() -> None:
    from precast.services.plans.evaluation import child

    assert child.OUT_OF_MEMORY == OUT_OF_MEMORY
