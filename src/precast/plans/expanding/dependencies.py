"""Which tasks wait for which, and on which nodes: the fields of tasks, applied to where the tasks run.

A dependency is of two tasks, not of two instances, so the number of dependencies does not grow with the number of nodes.

- `requires` and `required_for` mean the same node. A stage is on the sync node, which all nodes share: a task waits for it on each node,
  and it waits for a task on all nodes.
- `cross-depends` and `cross-depended-by` mean the nodes of roles, `self` the same node, and null the sync node, where only stages are.
- An input means the task that it is taken from, on the same node or on the nodes of roles.
- `consumes` means every task that `produces` the same key, on all its nodes.
- A task never waits for itself. If it names itself on some nodes, its instances there do not wait for each other, and those on the other
  nodes wait for them: so the others follow the first.

A name that matches no task is dropped with a warning. A task that does not run on the nodes that are meant is dropped without one: that
is how the same plan fits clusters of different shape.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from precast.base.errors import Issue
from precast.plans import issues
from precast.plans.expanding.placement import NOWHERE, ON_SYNC_NODE, Placement, is_stage
from precast.plans.expanding.problems import make_problem
from precast.plans.model import ComputedResult, CrossDependency, PlacedDependency, Plan, PlanProblem, PlanTask
from precast.plans.names import is_expression

SELF = ("self",)
# How many waits of instances for others, or for sets of others, a plan may have: some 60 bytes each.
MAX_WAITS = 5_000_000


class Reference(NamedTuple):
    """A field of a task that names others: those on the nodes of roles, or by default on the same node and the sync node."""

    field: str
    name: str
    comes_before: bool = True
    role: tuple[str, ...] | None = SELF
    is_cross: bool = True
    is_any: bool = False


def find_dependencies(
    plan: Plan, placement: Placement, warnings: list[PlanProblem], computed: Iterable[ComputedResult] = ()
) -> list[PlacedDependency]:
    """All dependencies, in the order of the tasks that declare them.

    Raises InputError PLAN-030 or PLAN-031 for a pattern, LimitedError PLAN-034 for too many waits.
    """
    finder = _Finder(plan, placement, warnings)
    results: dict[int, list[ComputedResult]] = defaultdict(list)
    for result in computed:
        results[result.task].append(result)
    found: dict[tuple[object, ...], PlacedDependency] = {}
    for number, task in enumerate(plan.tasks, 1):
        for dependency in finder.find(number, task, results[number]):
            found.setdefault(dependency[:6], dependency)  # two tasks often declare the same one, each in its own field
    return list(found.values())


def list_references(task: PlanTask) -> Iterator[Reference]:
    """The fields of a task that name others."""
    yield from _refer_locally("requires", task.requires)
    yield from _refer_locally("required_for", task.required_for)
    yield from _refer_across("cross_depends", task.cross_depends)
    yield from _refer_across("cross_depended_by", task.cross_depended_by)
    for given in task.inputs.values():
        yield Reference("inputs", given.task, role=given.role)


def _refer_locally(field: str, names: Iterable[str]) -> Iterator[Reference]:
    return (Reference(field, name, field == "requires", is_cross=False) for name in names)


def _refer_across(field: str, dependencies: Iterable[CrossDependency]) -> Iterator[Reference]:
    comes_before, written = field == "cross_depends", field.replace("_", "-")
    for cross in dependencies:
        yield Reference(written, cross.name, comes_before, cross.role, is_any=cross.policy == "any")


class _Finder:
    """Finds the dependencies that each task declares."""

    def __init__(self, plan: Plan, placement: Placement, warnings: list[PlanProblem]) -> None:
        self._placement, self._warnings = placement, warnings
        self._is_stage = [is_stage(task) for task in plan.tasks]
        self._groups = {group.id for group in plan.groups}
        self._producers: dict[str, list[str]] = defaultdict(list)
        for task in plan.tasks:
            for key in task.produces:
                self._producers[key].append(task.id)
        self._found: dict[str, list[int]] = {}
        self._waits = 0

    def find(self, number: int, task: PlanTask, computed: Iterable[ComputedResult]) -> Iterator[PlacedDependency]:
        nodes = self._placement.nodes_of(number)
        for reference in (*list_references(task), *self._refer_to_producers(task)):
            yield from self._join(number, task, nodes, reference)
        for result in computed:
            own = self._placement.roles.share(nodes.intersection(result.nodes))
            references = [
                *_refer_locally(result.field, result.names),
                *_refer_across(result.field, result.dependencies),
            ]
            for reference in references:
                yield from self._join(number, task, own, reference)

    def _refer_to_producers(self, task: PlanTask) -> Iterator[Reference]:
        for key in task.consumes:
            if key not in self._producers:
                self._warnings.append(make_problem(issues.NOT_PRODUCED, task.at, task=task.id, key=key))
            yield from (Reference("consumes", name, role=("*",)) for name in self._producers.get(key, ()))

    def _join(
        self, number: int, task: PlanTask, nodes: frozenset[str], reference: Reference
    ) -> Iterator[PlacedDependency]:
        """The dependencies of a task, on these of its nodes, that a field declares."""
        for other in self._match(task, reference):
            own, meant, is_local = self._place(reference, number, nodes, other)
            if not meant and self._is_stage[other - 1] and not is_expression(reference.name):
                self._warn(issues.STAGE_OF_ROLE, task, reference)
            if own and meant:
                pair = (number, other, own, meant) if reference.comes_before else (other, number, meant, own)
                is_any = reference.is_any and len(pair[3]) > 1
                self._count(len(own) + (0 if is_local else len(meant)))
                yield PlacedDependency(*pair, is_local, is_any, reference.field, number)

    def _match(self, task: PlanTask, reference: Reference) -> list[int]:
        """The numbers of the tasks that a field names; a warning if there are none."""
        names, numbers, name = self._placement.names, self._placement.numbers, reference.name
        if name not in self._found:
            self._found[name] = [numbers[task_id] for task_id in names.find(name, numbers)]
        found = self._found[name]
        if not found and name in self._groups:
            self._warn(issues.GROUP_AS_TASK, task, reference)
        elif not found and reference.field != "inputs":
            self._warn(issues.UNKNOWN_DEPENDENCY, task, reference, guess=names.suggest(name, numbers))
        return found

    def _place(
        self, reference: Reference, number: int, own: frozenset[str], other: int
    ) -> tuple[frozenset[str], frozenset[str], bool]:
        """The nodes of the task itself and of the other that are concerned, and whether each is concerned with its own node alone."""
        roles, of_other = self._placement.roles, self._placement.nodes_of(other)
        if number == other and reference.role == SELF:
            return NOWHERE, NOWHERE, True
        if not reference.is_cross and (self._is_stage[number - 1] or self._is_stage[other - 1]):
            return own, of_other, False
        if reference.role == SELF:
            both = roles.share(own & of_other)
            return both, both, True
        meant = roles.share(of_other & (ON_SYNC_NODE if reference.role is None else roles.resolve(reference.role)))
        return (roles.share(own - meant) if number == other else own), meant, False

    def _count(self, waits: int) -> None:
        """Count waits, so that a plan of few lines cannot fill the memory. Raises LimitedError PLAN-034."""
        self._waits += waits
        if self._waits > MAX_WAITS:
            raise issues.TOO_MANY_INSTANCES.error(count=self._waits, what="waits of tasks for others", limit=MAX_WAITS)

    def _warn(self, issue: Issue, task: PlanTask, reference: Reference, **values: object) -> None:
        problem = make_problem(issue, task.at, task=task.id, field=reference.field, name=reference.name, **values)
        self._warnings.append(problem)
