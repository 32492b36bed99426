"""Loads plans from texts, and shows problems as one line each."""

from collections.abc import Iterable, Mapping
from typing import Any

from precast.plans.loading.documents import PlanText
from precast.plans.loading.loader import LoadedPlan, load_plan
from precast.plans.model import PlanProblem, PlanTask

SHELL = "- id: web\n  type: shell\n  roles: [web]\n  parameters: {cmd: 'true'}\n"


def load(*texts: str, plans: Mapping[str, str] | None = None) -> LoadedPlan:
    """Load the texts as the files a.yaml, b.yaml and so on; `plans` are those that others may include."""
    files = [PlanText(f"{chr(ord('a') + number)}.yaml", text) for number, text in enumerate(texts)]
    return load_plan(
        files, "main", lambda name: [PlanText(f"{name}.yaml", (plans or {})[name])] if name in (plans or {}) else None
    )


def load_task(fields: str = "", head: str = SHELL) -> PlanTask:
    """The first task of a plan that has no problems: a shell task with further fields, or another head."""
    loaded = load(head + fields)
    assert (lines(loaded.errors), lines(loaded.warnings)) == ([], [])
    assert loaded.plan is not None
    return loaded.plan.tasks[0]


def find_errors(fields: str, head: str = SHELL) -> list[str]:
    loaded = load(head + fields)
    assert loaded.plan is None or not loaded.errors
    return lines(loaded.errors)


def find_warnings(fields: str, head: str = SHELL) -> list[str]:
    loaded = load(head + fields)
    assert lines(loaded.errors) == []
    return lines(loaded.warnings)


def lines(problems: Iterable[PlanProblem]) -> list[str]:
    """`5:3 PLAN-020 text`; the file is shown if it is not the first."""
    return [f"{_place(problem)} {problem.code} {problem.text}" for problem in problems]


def _place(problem: PlanProblem) -> str:
    if problem.at is None:
        return "nowhere"
    file = "" if problem.at.file == "a.yaml" else f"{problem.at.file}:"
    return f"{file}{problem.at.line}:{problem.at.column}"


def attributes(task: PlanTask, *names: str) -> dict[str, Any]:
    return {name: getattr(task, name) for name in names}
