"""Loads, expands and checks a plan in a child process: it reads a request from standard input and writes the answer to standard output.

The files are untrusted. Parsing them, their patterns and their graph can exhaust only the memory and the time of this process, which has no
privileges, no network and no access to files.
"""

import importlib
import sys
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from precast.base.confinement.children import ASK, confine_or_exit, write_answer
from precast.base.confinement.confine import Confinement, Level
from precast.base.errors import PrecastError
from precast.plans.checks import check_expansion
from precast.plans.collection import add_collections
from precast.plans.comparison import PlanComparison, compare_expansions
from precast.plans.expansion import expand
from precast.plans.loading.documents import PlanText
from precast.plans.loading.loader import load_plan
from precast.plans.model import SYNC_NODE, Expansion, Plan, PlanProblem
from precast.plans.numbering import find_removed, keep_numbers
from precast.plans.parameters import check_parameters
from precast.plans.subsets import choose_instances, subset_of
from precast.plans.views.problem_view import problem_of
from precast.services.plans.pinned import SkippedTask
from precast.services.plans.preparing.gates import find_gates
from precast.services.plans.preparing.messages import EarlierPlan, PlanningAnswer, PlanningRequest, SourceText
from precast.wire.jobs import states
from precast.wire.plans.bodies import SubsetBody

MEMORY_BYTES = 2 * 1024**3
CPU_S = 120


def answer(request: PlanningRequest) -> PlanningAnswer:
    """Answer a request: as far as the plan can be read."""
    loaded = load_plan(_texts(request.texts), request.name, lambda name: _find(request, name))
    if loaded.plan is None or loaded.errors:
        return PlanningAnswer(loaded.plan, loaded.errors, loaded.warnings)
    try:
        return _expand(request, add_collections(loaded.plan), loaded.warnings)
    except PrecastError as error:
        return PlanningAnswer(loaded.plan, [problem_of(error)], loaded.warnings)


def _find(request: PlanningRequest, name: str) -> list[PlanText] | None:
    texts = request.others.get(name)
    return None if texts is None else _texts(texts)


def _texts(texts: Sequence[SourceText]) -> list[PlanText]:
    return [PlanText(text.path, text.text, text.layer) for text in texts]


def _expand(request: PlanningRequest, complete: Plan, warnings: list[PlanProblem]) -> PlanningAnswer:
    before = request.before
    plan = complete if before is None else keep_numbers(complete, before.plan.tasks)
    earlier = {} if before is None else before.given
    given = {**{name: value for name, value in earlier.items() if name in plan.parameters}, **request.given}
    parameters = check_parameters(plan, given)
    if request.computed is None and any(task.computed for task in plan.tasks):
        return PlanningAnswer(plan, [], warnings, parameters, given, is_expanded=False)
    expansion = expand(plan, request.nodes, request.computed or ())
    problems = check_expansion(expansion)
    errors = [problem for problem in problems if problem.is_error]
    remarks = [*warnings, *expansion.warnings, *(problem for problem in problems if not problem.is_error)]
    placed: list[list[str]] = [[] for _ in plan.tasks]
    for instance in expansion.instances:
        if instance.key.node != SYNC_NODE:
            placed[instance.key.task - 1].append(instance.key.node)
    return PlanningAnswer(
        plan,
        errors,
        remarks,
        parameters,
        given,
        placed,
        _find_not_chosen(expansion, request.subset),
        sum(map(len, placed)),
        find_gates(expansion),
        comparison=None if before is None else _compare(before, complete, expansion),
    )


def _compare(before: EarlierPlan, complete: Plan, expansion: Expansion) -> PlanComparison:
    removed = find_removed(complete, before.plan.tasks)
    return compare_expansions(expand(before.plan, before.nodes, before.computed), expansion, removed)


def _find_not_chosen(expansion: Expansion, body: SubsetBody) -> list[SkippedTask]:
    chosen = choose_instances(expansion, subset_of(body))
    left_out: dict[int, list[str]] = defaultdict(list)
    for index, instance in enumerate(expansion.instances):
        if index not in chosen and instance.key.node != SYNC_NODE:
            left_out[instance.key.task].append(instance.key.node)
    return [SkippedTask(task, states.NOT_CHOSEN, nodes) for task, nodes in sorted(left_out.items())]


def main() -> int:
    for name in ("encodings.idna", "difflib"):
        importlib.import_module(name)  # what is imported late cannot be found later
    level = Level(sys.argv[1])
    measures = confine_or_exit(Confinement(level=level, memory_bytes=MEMORY_BYTES, cpu_s=CPU_S))
    if sys.argv[2:] == [ASK]:
        write_answer(measures)
        return 0
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=PlanningRequest)
    sys.stdout.buffer.write(msgspec.json.encode(answer(request)))
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
